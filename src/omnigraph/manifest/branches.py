"""Branch names: refs that map a name to an incarnation. Creating one copies the parent's state, not its data.

No store can move a name in one step. A rename takes the new name with a ref that says which name it comes from, and
such a ref does not count while the old one is there: deleting the old ref is the moment of the rename. Whoever stops
between the two has renamed nothing; the new name stays reserved until the rename is done again or either is deleted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from omnigraph.errors import AlreadyExistsError, NotFoundError, UsageError
from omnigraph.history.state import ManifestState, fork, to_rows
from omnigraph.lang.diagnostics import did_you_mean
from omnigraph.manifest.layout import MAIN, REFS_PREFIX, branch_of_ref, ref_path, rows_to_arrow
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.swap import create_manifest

_NAME = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
NAME_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class Ref:
    """What a branch name stands for."""

    name: str
    incarnation: str
    parent_commit: str | None
    actor: str | None
    created_at_us: int
    renamed_from: str | None = None

    def to_bytes(self) -> bytes:
        ref = {
            "name": self.name,
            "incarnation": self.incarnation,
            "parent_commit": self.parent_commit,
            "actor": self.actor,
            "created_at": self.created_at_us,
            "renamed_from": self.renamed_from,
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
    if ref is None or _is_reserved(manifests, ref):
        hint = did_you_mean(name, [ref.name for ref in list_refs(manifests)])
        raise NotFoundError(
            f"there is no branch {name!r}", hint=hint or "omnigraph branch list shows them", branch=name
        )
    return ref


def _read(manifests: Manifests, name: str) -> Ref | None:
    content = manifests.store.objects.read(ref_path(name))
    return None if content is None else _ref(content)


def _ref(content: bytes) -> Ref:
    stored = json.loads(content)
    return Ref(
        stored["name"],
        stored["incarnation"],
        stored["parent_commit"],
        stored["actor"],
        stored["created_at"],
        stored["renamed_from"],
    )


def _is_reserved(manifests: Manifests, ref: Ref) -> bool:
    """Whether a rename to this name was begun and not finished."""
    if ref.renamed_from is None:
        return False
    origin = _read(manifests, ref.renamed_from)
    return origin is not None and origin.incarnation == ref.incarnation


def list_refs(manifests: Manifests) -> Iterator[Ref]:
    """``main``, then every branch by name."""
    yield main_ref(manifests)
    for ref in _stored_refs(manifests):
        if not _is_reserved(manifests, ref):
            yield ref


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
    manifests.remember(state)
    return state


def _taken(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"branch {name!r} exists already", hint="choose another name or delete it", branch=name)


def delete_branch(manifests: Manifests, name: str) -> Ref:
    """Forget the name. The incarnation is left to cleanup, and to whoever still reads it."""
    if name == MAIN:
        raise UsageError("main cannot be deleted")
    ref = _read(manifests, check_name(name)) or find_ref(manifests, name)
    _release(manifests, ref)
    if not manifests.store.objects.delete(ref_path(ref.name)):
        raise _gone(name)
    return ref


def _release(manifests: Manifests, ref: Ref) -> None:
    """Give up names that unfinished renames reserved: without the name they come from they would count."""
    for other in list(_stored_refs(manifests)):
        if other.renamed_from == ref.name and other.incarnation == ref.incarnation:
            manifests.store.objects.delete(ref_path(other.name))


def _gone(name: str) -> NotFoundError:
    return NotFoundError(f"there is no branch {name!r}", branch=name)


def rename_branch(manifests: Manifests, name: str, new_name: str) -> Ref:
    """Give an incarnation another name."""
    if name == MAIN:
        raise UsageError("main cannot be renamed")
    old = find_ref(manifests, name)
    new = replace(old, name=check_name(new_name), renamed_from=old.name)
    if new.name in (MAIN, old.name):
        raise _taken(new.name)
    _release(manifests, old)
    if not manifests.store.objects.create(ref_path(new.name), new.to_bytes()):
        raise _taken(new.name)
    if not manifests.store.objects.delete(ref_path(old.name)):
        # Somebody else deleted or renamed it meanwhile.
        manifests.store.objects.delete(ref_path(new.name))
        raise _gone(name)
    return new
