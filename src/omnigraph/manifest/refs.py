"""Refs, the files that map branch names to incarnations, and the marks that tell when one is lost.

A mark, ``branches/<incarnation>/named.json``, is a copy of the ref. It is written after the ref and removed before it,
so an incarnation with a mark and without a ref has lost its ref. A branch needs no mark: a crash or an earlier version
may have left it without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from omnigraph.errors import ContentionError, CorruptionError, OmnigraphError, OutcomeUnknown, StorageError
from omnigraph.manifest.layout import BRANCHES, REFS_PREFIX, branch_of_ref, ref_path
from omnigraph.storage.objects.sealed import damaged, seal, unseal
from omnigraph.storage.tables.store import Store

LISTINGS_MAX = 100
"""How often refs are listed because one of them vanished; each time only new ones are read."""

_KEYS = ("name", "incarnation", "parent_commit", "actor", "created_at")


@dataclass(frozen=True, slots=True)
class Ref:
    """The branch that a name stands for, by its incarnation."""

    name: str
    incarnation: str
    parent_commit: str | None
    actor: str | None
    created_at_us: int
    token: str | None = None
    """Tells the refs of several renames apart, so that a conditional delete never removes the ref of another one."""

    def to_bytes(self) -> bytes:
        return seal(
            {
                "name": self.name,
                "incarnation": self.incarnation,
                "parent_commit": self.parent_commit,
                "actor": self.actor,
                "created_at": self.created_at_us,
                **({} if self.token is None else {"token": self.token}),
            }
        )

    @classmethod
    def from_bytes(cls, content: bytes, path: str) -> Ref:
        """The ref that a file holds, be it the ref itself or its mark."""
        fields = unseal(content, path, _KEYS)
        if not fields.keys() >= set(_KEYS):
            raise damaged(path, "it is not a ref")
        name, incarnation, parent_commit, actor, created_at_us = (fields[key] for key in _KEYS)
        return cls(name, incarnation, parent_commit, actor, created_at_us, fields.get("token"))


@dataclass(frozen=True, slots=True)
class Damaged:
    """A file that leads to parts of the graph and cannot be read, and the branch that it belongs to."""

    path: str
    what: str
    branch: str | None = None

    @classmethod
    def of(cls, error: OmnigraphError, path: str, branch: str | None = None) -> Damaged:
        """The damage that an error tells of; ``path`` is used if the error names no file."""
        named = str(error.facts.get("path") or path)
        return cls(named, error.message.removeprefix(f"{named} "), branch)


def read_ref(store: Store, name: str) -> Ref | None:
    """The ref of a name, or None if there is none."""
    path = ref_path(name)
    content = store.objects.read(path)
    return None if content is None else _named(Ref.from_bytes(content, path), path)


def _named(ref: Ref, path: str) -> Ref:
    if ref.name != branch_of_ref(path):
        raise damaged(path, f"it is the ref of branch {ref.name!r}")
    return ref


def stored_refs(store: Store) -> list[Ref | Damaged]:
    """Every ref by name, readable or not.

    A ref that vanished after it was listed may have been renamed: its new name is looked for.
    """
    found: dict[str, Ref | Damaged] = {}
    for _ in range(LISTINGS_MAX):
        paths = (path for path, _ in store.objects.list(REFS_PREFIX) if path.endswith(".json"))
        read = {name: _readable(store, name) for name in map(branch_of_ref, paths) if name not in found}
        found |= {name: ref for name, ref in read.items() if ref is not None}
        if None not in read.values():
            return [found[name] for name in sorted(found)]
    raise ContentionError("branches come and go faster than they can be listed", hint="try again")


def _readable(store: Store, name: str) -> Ref | Damaged | None:
    try:
        return read_ref(store, name)
    except CorruptionError as error:
        return Damaged.of(error, ref_path(name), name)


def mark_path(incarnation: str) -> str:
    """The mark of an incarnation that has a name."""
    return f"{BRANCHES}/{incarnation}/named.json"


def add_mark(store: Store, ref: Ref) -> None:
    """Note that a ref exists. A failure is no reason to fail the caller: the branch is there without it."""
    with suppress(StorageError, OutcomeUnknown):
        store.objects.replace(mark_path(ref.incarnation), ref.to_bytes())
        # A branch that was deleted meanwhile must not look as if its ref were lost.
        if read_ref(store, ref.name) != ref:
            store.objects.delete(mark_path(ref.incarnation))


def remove_mark(store: Store, incarnation: str) -> None:
    """Note that a ref is about to be deleted; ``StorageError`` if that cannot be done, and then the ref must stay."""
    try:
        store.objects.delete(mark_path(incarnation))
    except OutcomeUnknown as error:
        # The branch is as it was, with or without its mark.
        raise StorageError(f"the mark of a branch could not be removed: {error.message}") from error


def marks(store: Store) -> Iterator[tuple[str, Ref | Damaged]]:
    """Every incarnation that has a mark, with its ref."""
    for directory in sorted(store.objects.level(BRANCHES).directories):
        incarnation = directory.removeprefix(f"{BRANCHES}/")
        found = read_mark(store, incarnation)
        if found is not None:
            yield incarnation, found


def read_mark(store: Store, incarnation: str) -> Ref | Damaged | None:
    """The mark of an incarnation, or None if it has none."""
    path = mark_path(incarnation)
    content = store.objects.read(path)
    if content is None:
        return None
    try:
        return Ref.from_bytes(content, path)
    except CorruptionError as error:
        return Damaged.of(error, path)
