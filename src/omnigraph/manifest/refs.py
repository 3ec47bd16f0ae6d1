"""Refs, the files that map branch names to incarnations, and marks, which detect a lost ref.

A mark, ``branches/<incarnation>/named.json``, is a copy of the ref. It is written after the ref and removed before it,
so an incarnation with a mark and without a ref has lost its ref. A mark is optional: a crash or an earlier release may
have left a branch without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import ContentionError, CorruptionError, OmnigraphError, OutcomeUnknown, StorageError
from omnigraph.manifest.layout import BRANCHES, REFS_PREFIX, branch_of_ref, ref_path
from omnigraph.storage.objects.sealed import damaged, seal, unseal
from omnigraph.storage.tables.store import Store

LISTINGS_MAX = 100
"""Maximum listings when refs disappear between listing and reading; each time only new refs are read."""

CHECKED_MAX = 256
"""Refs kept by their bytes, some hundred bytes each."""

_KEYS = ("name", "incarnation", "parent_commit", "actor", "created_at")


@dataclass(frozen=True, slots=True)
class Ref:
    """A branch name and the incarnation that it stands for."""

    name: str
    incarnation: str
    parent_commit: str | None
    actor: str | None
    created_at_us: int
    token: str | None = None
    """Distinguishes the refs of several renames, so that a conditional delete never removes the ref of another one."""

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
        """The ref in a ref file or in a mark."""
        fields = unseal(content, path, _KEYS)
        if not fields.keys() >= set(_KEYS):
            raise damaged(path, "it is not a ref")
        name, incarnation, parent_commit, actor, created_at_us = (fields[key] for key in _KEYS)
        return cls(name, incarnation, parent_commit, actor, created_at_us, fields.get("token"))


@dataclass(frozen=True, slots=True)
class Damaged:
    """An unreadable file that other parts of the graph are reached through, and its branch."""

    path: str
    what: str
    branch: str | None = None

    @classmethod
    def of(cls, error: OmnigraphError, path: str, branch: str | None = None) -> Damaged:
        """The damage that an error reports; ``path`` is used if the error names no file."""
        named = str(error.facts.get("path") or path)
        return cls(named, error.message.removeprefix(f"{named} "), branch)


def read_ref(store: Store, name: str) -> Ref | None:
    """The ref of a name, or None if there is none."""
    path = ref_path(name)
    content = store.objects.read(path)
    return None if content is None else _checked(content, path)


@lru_cache(maxsize=CHECKED_MAX)
def _checked(content: bytes, path: str) -> Ref:
    """The ref in a file of this name. Every read of a branch asks for it, and the same bytes are the same ref."""
    ref = Ref.from_bytes(content, path)
    if ref.name != branch_of_ref(path):
        raise damaged(path, f"it is the ref of branch {ref.name!r}")
    return ref


def stored_refs(store: Store) -> list[Ref | Damaged]:
    """Every ref by name, readable or not.

    A ref that disappeared after it was listed may have been renamed, so the refs are listed again.
    """
    found: dict[str, Ref | Damaged] = {}
    for _ in range(LISTINGS_MAX):
        paths = (path for path, _ in store.objects.list(REFS_PREFIX) if path.endswith(".json"))
        read = {name: _readable(store, name) for name in map(branch_of_ref, paths) if name not in found}
        found |= {name: ref for name, ref in read.items() if ref is not None}
        if None not in read.values():
            return [found[name] for name in sorted(found)]
    raise ContentionError("branches are created and deleted faster than they can be listed", hint="try again")


def _readable(store: Store, name: str) -> Ref | Damaged | None:
    try:
        return read_ref(store, name)
    except CorruptionError as error:
        return Damaged.of(error, ref_path(name), name)


def mark_path(incarnation: str) -> str:
    """The mark of an incarnation that has a name."""
    return f"{BRANCHES}/{incarnation}/named.json"


def add_mark(store: Store, ref: Ref) -> None:
    """Write the mark of a ref. A failure is ignored: the branch is valid without it."""
    with suppress(StorageError, OutcomeUnknown):
        store.objects.replace(mark_path(ref.incarnation), ref.to_bytes())
        # A branch that was deleted meanwhile must not look as if its ref were lost.
        if read_ref(store, ref.name) != ref:
            store.objects.delete(mark_path(ref.incarnation))


def remove_mark(store: Store, incarnation: str) -> None:
    """Remove the mark of a ref that is about to be deleted; after a ``StorageError`` the ref must stay."""
    try:
        store.objects.delete(mark_path(incarnation))
    except OutcomeUnknown as error:
        # The branch is unchanged, with or without its mark, so the outcome of the deletion is known: it failed.
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
