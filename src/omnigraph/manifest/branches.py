"""Branch names: refs that map a name to an incarnation of a branch.

A ref counts only if the manifest it leads to says the same name: so names change by a swap of the manifest, and a ref
that a stopped process left behind does no harm. ``manifest.naming`` gives names and takes them away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.errors import (
    ContentionError,
    HistoryCleaned,
    NotFoundError,
    UsageError,
)
from omnigraph.history.state import ManifestState
from omnigraph.lang.diagnostics import did_you_mean
from omnigraph.manifest.commit_log import find_commit
from omnigraph.manifest.layout import MAIN, REFS_PREFIX, branch_of_ref, ref_path
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.records import was_nameless

_NAME = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
NAME_CHARS_MAX = 200

LISTINGS_MAX = 100
"""How often refs are listed because one of them vanished; each time only new ones are read."""


@dataclass(frozen=True, slots=True)
class Ref:
    """What a branch name stands for."""

    name: str
    incarnation: str
    parent_commit: str | None
    actor: str | None
    created_at_us: int
    token: str | None = None
    """Tells the refs of several renames apart, so that a conditional delete never removes the ref of another one."""

    def to_bytes(self) -> bytes:
        ref = {
            "name": self.name,
            "incarnation": self.incarnation,
            "parent_commit": self.parent_commit,
            "actor": self.actor,
            "created_at": self.created_at_us,
            **({} if self.token is None else {"token": self.token}),
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
    ref = read_ref(manifests, check_name(name))
    if ref is None or not _counts(manifests, ref):
        raise no_such_branch(manifests, name)
    return ref


def find_head(manifests: Manifests, name: str) -> ManifestState:
    """The newest state of a branch."""
    state = manifests.fresh(find_ref(manifests, name).incarnation)
    if state.branch != name.strip():
        raise no_such_branch(manifests, name)
    return state


def read_ref(manifests: Manifests, name: str) -> Ref | None:
    """The ref of a name, whether it counts or not."""
    content = manifests.store.objects.read(ref_path(name))
    return None if content is None else parse_ref(content)


def parse_ref(content: bytes) -> Ref:
    """The ref that a file holds."""
    stored = json.loads(content)
    return Ref(
        stored["name"],
        stored["incarnation"],
        stored["parent_commit"],
        stored["actor"],
        stored["created_at"],
        stored.get("token"),
    )


def _counts(manifests: Manifests, ref: Ref) -> bool:
    """Whether the manifest agrees with the name. The state in memory may be older than a rename: a no is looked up."""
    try:
        known = manifests.warm(ref.incarnation)
        return known.branch == ref.name or manifests.fresh(ref.incarnation).branch == ref.name
    except NotFoundError:
        return False


def heads(manifests: Manifests) -> Iterator[tuple[Ref, ManifestState]]:
    """``main``, then every branch by name, with their newest states."""
    yield main_ref(manifests), manifests.fresh(manifests.stamp.graph_id)
    for ref in _stored_refs(manifests):
        state = newest_state(manifests, ref.incarnation)
        if state is not None and state.branch == ref.name:
            yield ref, state


def newest_state(manifests: Manifests, incarnation: str) -> ManifestState | None:
    """The newest state of an incarnation; None if cleanup took it before its creator had given it a name."""
    try:
        return manifests.fresh(incarnation)
    except NotFoundError:
        return None


def named_states(manifests: Manifests) -> dict[str, ManifestState]:
    """The newest state of every incarnation that any ref leads to, whether that ref counts or not."""
    main = manifests.stamp.graph_id
    incarnations = dict.fromkeys(ref.incarnation for ref in _stored_refs(manifests))
    # Main after the refs: a branch that is unconfirmed since main's fence was created before any newer fence.
    found = {main: manifests.fresh(main)} | {name: newest_state(manifests, name) for name in incarnations}
    return {name: state for name, state in found.items() if state is not None}


def _stored_refs(manifests: Manifests) -> list[Ref]:
    """All refs by name. One that vanished after it was listed may have been renamed: its new name is looked for."""
    objects = manifests.store.objects
    found: dict[str, Ref] = {}
    for _ in range(LISTINGS_MAX):
        paths = [path for path, _ in objects.list(REFS_PREFIX) if path.endswith(".json") and path not in found]
        contents = {path: objects.read(path) for path in paths}
        found |= {path: parse_ref(content) for path, content in contents.items() if content is not None}
        if None not in contents.values():
            return [found[path] for path in sorted(found, key=branch_of_ref)]
    raise ContentionError("branches come and go faster than they can be listed", hint="try again")


def check_confirmed(manifests: Manifests, state: ManifestState) -> None:
    """Refuse a new branch whose files cleanup may have deleted while it was being made."""
    if state.unconfirmed is None or is_confirmed(state, manifests.fresh(manifests.stamp.graph_id)):
        return
    during = f"branch {state.branch!r} was being made"
    # Any of these cleanups may still be deleting the manifest, whatever the newest one found.
    if was_nameless(manifests.store, state.incarnation, state.unconfirmed):
        raise _deleted(state, during)
    check_kept(manifests, state, during)


def is_confirmed(state: ManifestState, main: ManifestState) -> bool:
    """Whether no cleanup deleted anything while a branch was being made. ``main`` was read after the branch's ref.

    Cleanup puts its fence on main as well, before it deletes anything and before it looks at the refs again.
    """
    return state.unconfirmed is None or state.unconfirmed == main.fence.number


def check_kept(manifests: Manifests, state: ManifestState, during: str) -> None:
    """Refuse a state that cleanup has given up, or that no branch needs whose files are known to be there."""
    record = manifests.record()
    head = find_commit(manifests.store, state, state.head)
    is_given_up = head is None or record.given_up_since(head) is not None or state.incarnation in record.nameless
    # Another new branch proves nothing: it may have been made of the same deleted files.
    sound = (other for other in named_states(manifests).values() if other.unconfirmed is None)
    if is_given_up or not any(find_commit(manifests.store, other, state.head) is not None for other in sound):
        raise _deleted(state, during)


def _deleted(state: ManifestState, during: str) -> HistoryCleaned:
    return HistoryCleaned(
        f"cleanup may have deleted files of commit {state.head} while {during}",
        hint="try again; if the commit or its branch is gone by now, start from a newer one",
        commit=state.head,
    )


def no_such_branch(manifests: Manifests, name: str) -> NotFoundError:
    hint = did_you_mean(name, [MAIN, *(ref.name for ref in _stored_refs(manifests))])
    return NotFoundError(f"there is no branch {name!r}", hint=hint or "omnigraph branch list shows them", branch=name)
