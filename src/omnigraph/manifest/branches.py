"""Branch names: refs that map a name to an incarnation. Creating one copies the parent's state, not its data.

A ref counts only if the manifest it leads to says the same name. So a rename is one swap of the manifest, between
taking the new name and giving up the old one, and of several at once exactly one wins. Whoever stops half-way leaves a
ref that does not count; its name is free again once somebody deletes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from omnigraph.errors import (
    AlreadyExistsError,
    ContentionError,
    NotFoundError,
    OutcomeUnknown,
    StorageError,
    UsageError,
)
from omnigraph.history.state import ManifestState, fork, to_rows
from omnigraph.lang.diagnostics import did_you_mean
from omnigraph.manifest.layout import MAIN, REFS_PREFIX, branch_of_ref, ref_path, rows_to_arrow
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.replacement import replace_state
from omnigraph.storage.swap import (
    SwapLost,
    SwapNotDurable,
    SwapUnclear,
    create_manifest,
)

_NAME = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
NAME_CHARS_MAX = 200

RENAME_ATTEMPTS_MAX = 200
"""Swaps tried for one rename, as for a write."""


@dataclass(frozen=True, slots=True)
class Ref:
    """What a branch name stands for."""

    name: str
    incarnation: str
    parent_commit: str | None
    actor: str | None
    created_at_us: int

    def to_bytes(self) -> bytes:
        ref = {
            "name": self.name,
            "incarnation": self.incarnation,
            "parent_commit": self.parent_commit,
            "actor": self.actor,
            "created_at": self.created_at_us,
        }
        return json.dumps(ref, indent=2).encode() + b"\n"


def check_name(name: str) -> str:
    """The trimmed name, or an error that says what a name looks like."""
    trimmed = name.strip()
    fits = _NAME.fullmatch(trimmed) is not None and len(trimmed) <= NAME_CHARS_MAX
    if not fits or ".." in trimmed or trimmed.endswith(".lock") or trimmed.startswith("__"):
        raise UsageError(
            f"{name!r} is not a branch name",
            hint="use letters, digits, '.', '-', '_' and '/' between them, such as review/2024-q1",
        )
    return trimmed


def main_ref(manifests: Manifests) -> Ref:
    """``main`` needs no file: it has always been there."""
    return Ref(MAIN, manifests.stamp.graph_id, None, None, manifests.stamp.created_at_us)


def find_ref(manifests: Manifests, name: str) -> Ref:
    """The ref of a branch, or an error with the nearest name."""
    if name == MAIN:
        return main_ref(manifests)
    ref = _read(manifests, check_name(name))
    if ref is None or not _counts(manifests, ref):
        raise _gone(manifests, name)
    return ref


def find_head(manifests: Manifests, name: str) -> ManifestState:
    """The newest state of a branch."""
    state = manifests.fresh(find_ref(manifests, name).incarnation)
    if state.branch != name.strip():
        raise _gone(manifests, name)
    return state


def _read(manifests: Manifests, name: str) -> Ref | None:
    content = manifests.store.objects.read(ref_path(name))
    return None if content is None else _ref(content)


def _ref(content: bytes) -> Ref:
    stored = json.loads(content)
    return Ref(stored["name"], stored["incarnation"], stored["parent_commit"], stored["actor"], stored["created_at"])


def _counts(manifests: Manifests, ref: Ref) -> bool:
    """Whether the manifest agrees with the name. The state in memory may be older than a rename: a no is looked up."""
    known = manifests.warm(ref.incarnation)
    return known.branch == ref.name or manifests.fresh(ref.incarnation).branch == ref.name


def heads(manifests: Manifests) -> Iterator[tuple[Ref, ManifestState]]:
    """``main``, then every branch by name, with their newest states."""
    yield main_ref(manifests), manifests.fresh(manifests.stamp.graph_id)
    for ref in _stored_refs(manifests):
        state = manifests.fresh(ref.incarnation)
        if state.branch == ref.name:
            yield ref, state


def named_states(manifests: Manifests) -> dict[str, ManifestState]:
    """The newest state of every incarnation that any ref leads to, whether that ref counts or not."""
    incarnations = [manifests.stamp.graph_id, *(ref.incarnation for ref in _stored_refs(manifests))]
    return {incarnation: manifests.fresh(incarnation) for incarnation in dict.fromkeys(incarnations)}


def _stored_refs(manifests: Manifests) -> Iterator[Ref]:
    paths = [path for path, _ in manifests.store.objects.list(REFS_PREFIX) if path.endswith(".json")]
    for path in sorted(paths, key=branch_of_ref):
        content = manifests.store.objects.read(path)
        if content is not None:
            yield _ref(content)


def create_branch(manifests: Manifests, ref: Ref, parent: ManifestState) -> ManifestState:
    """Copy the parent's state into a new incarnation, then take the name. A crash in between leaves only garbage."""
    check_name(ref.name)
    if ref.name == MAIN or manifests.store.objects.read(ref_path(ref.name)) is not None:
        raise _taken(ref.name)
    state = fork(parent, ref.name, ref.incarnation)
    made = create_manifest(manifests.store, manifests.location(ref.incarnation), rows_to_arrow(to_rows(state)))
    if not manifests.store.objects.create(ref_path(ref.name), ref.to_bytes()):
        raise _taken(ref.name)
    state = replace(state, version=made.version)
    manifests.remember(state, files=made.files)
    return state


def _taken(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"branch {name!r} exists already", hint="choose another name or delete it", branch=name)


def check_deletable(name: str) -> None:
    """Raises for the one branch that every graph has."""
    if name == MAIN:
        raise UsageError("main cannot be deleted")


def delete_branch(manifests: Manifests, name: str) -> Ref:
    """Forget the name. The incarnation is left to cleanup, and to whoever still reads it."""
    check_deletable(name)
    # Also a name that does not count: this is how it becomes free.
    ref = _read(manifests, check_name(name))
    if ref is None or not manifests.store.objects.delete(ref_path(ref.name)):
        raise _gone(manifests, name)
    return ref


def _gone(manifests: Manifests, name: str) -> NotFoundError:
    hint = did_you_mean(name, [MAIN, *(ref.name for ref in _stored_refs(manifests))])
    return NotFoundError(f"there is no branch {name!r}", hint=hint or "omnigraph branch list shows them", branch=name)


def rename_branch(manifests: Manifests, name: str, new_name: str) -> Ref:
    """Give an incarnation another name: take it, swap the manifest, give up the old one."""
    if name == MAIN:
        raise UsageError("main cannot be renamed")
    old = find_ref(manifests, name)
    new = replace(old, name=check_name(new_name))
    if new.name in (MAIN, old.name) or not manifests.store.objects.create(ref_path(new.name), new.to_bytes()):
        raise _taken(new.name)
    if not _swap_name(manifests, old.incarnation, old.name, new.name):
        manifests.store.objects.delete(ref_path(new.name))
        raise _gone(manifests, name)
    # The branch is renamed, and a failure from here on must not be told as if it were not: an old ref that stays does
    # not count. Whoever took the old name meanwhile had to delete this ref first, and theirs is another incarnation.
    with suppress(StorageError, OutcomeUnknown):
        if _read(manifests, old.name) == old:
            manifests.store.objects.delete(ref_path(old.name))
    return new


def _swap_name(manifests: Manifests, incarnation: str, old: str, new: str) -> bool:
    """Write another name into a manifest; False if somebody else did."""
    change = f"branch {old} was renamed to {new}"
    unclear: SwapUnclear | None = None
    for _ in range(RENAME_ATTEMPTS_MAX):
        try:
            state = manifests.fresh(incarnation)
        except StorageError as error:
            if unclear is None:
                raise
            raise OutcomeUnknown(None, str(unclear), change=change) from error
        if state.branch != old:
            # After a lost answer it may be our own swap that is found here.
            return state.branch == new
        try:
            replace_state(manifests, state, replace(state, branch=new))
        except SwapLost:
            continue
        except SwapUnclear as error:
            unclear = error
            continue
        except SwapNotDurable as error:
            raise OutcomeUnknown(None, str(error), change=change) from error
        return True
    raise ContentionError(f"{RENAME_ATTEMPTS_MAX} others wrote to {old!r} first", hint="try again")
