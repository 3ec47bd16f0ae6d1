"""Branch names: refs that map a name to an incarnation of a branch.

A ref is valid only if the manifest that it leads to has the same name. So names change by a swap of the manifest, and a
ref that a crashed process left behind is ignored. ``manifest.naming`` creates, renames and deletes branches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from omnigraph.core.hints import BRANCHES_HINT
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import (
    Hint,
    HistoryCleaned,
    NotFoundError,
    StorageError,
    UsageError,
)
from omnigraph.history.state import ManifestState
from omnigraph.manifest.commit_log import find_commit
from omnigraph.manifest.layout import DELETED, MAIN, ref_path
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.records import was_nameless
from omnigraph.manifest.refs import Damaged, Ref, mark_path, marks, read_mark, read_ref, stored_refs

_NAME = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
NAME_CHARS_MAX = 200
NAMES_KNOWN_MAX = 1024
"""Names whose form is remembered: every read of a branch asks."""
_MOMENT_HINT = Hint("a moment is given as at=, without a branch", "a moment is given with --at, without --branch")


@lru_cache(maxsize=NAMES_KNOWN_MAX)
def check_name(name: str) -> str:
    """The trimmed name, or an error with the allowed form."""
    trimmed = name.strip()
    fits = _NAME.fullmatch(trimmed) is not None and len(trimmed) <= NAME_CHARS_MAX
    if not fits or ".." in trimmed or trimmed.endswith(".lock") or trimmed.startswith("__"):
        is_moment = any(char in name for char in "~^@")
        raise UsageError(
            f"{name!r} is not a branch name",
            hint=_MOMENT_HINT
            if is_moment
            else "use letters, digits, '.', '-', '_' and '/' between them, such as review/2024-q1",
        )
    return trimmed


def main_ref(manifests: Manifests) -> Ref:
    """The ref of ``main``, which has no file: the branch exists in every graph."""
    return Ref(MAIN, manifests.stamp.graph_id, None, None, manifests.stamp.created_at_us)


def find_ref(manifests: Manifests, name: str) -> Ref:
    """The ref of a branch, or an error with the nearest name."""
    if name == MAIN:
        return main_ref(manifests)
    ref = read_ref(manifests.store, check_name(name))
    if ref is None or not _is_valid(manifests, ref):
        raise no_such_branch(manifests, name)
    return ref


def has_branch(manifests: Manifests, name: str) -> bool:
    """True if a branch of that name exists."""
    try:
        find_ref(manifests, name)
    except NotFoundError:
        return False
    return True


def find_head(manifests: Manifests, name: str) -> ManifestState:
    """The newest state of a branch."""
    if name == MAIN:
        # ``main`` has no ref and cannot be renamed.
        return manifests.fresh(manifests.stamp.graph_id)
    state = manifests.fresh(find_ref(manifests, name).incarnation)
    if state.branch != name.strip():
        raise no_such_branch(manifests, name)
    return state


def _is_valid(manifests: Manifests, ref: Ref) -> bool:
    """True if the manifest has the name of the ref.

    The cached state may be older than a rename, so a mismatch is checked against the store.
    """
    try:
        known = manifests.warm(ref.incarnation)
        return known.branch == ref.name or manifests.fresh(ref.incarnation).branch == ref.name
    except NotFoundError:
        return False


def every_branch(manifests: Manifests) -> Iterator[tuple[Ref, ManifestState] | Damaged]:
    """``main``, then every branch by name, with its newest state or its damage; lost refs come last."""
    for ref in (main_ref(manifests), *stored_refs(manifests.store)):
        if isinstance(ref, Damaged):
            yield ref
            continue
        state = _newest(manifests, ref)
        if isinstance(state, Damaged):
            yield state
        elif state is not None and state.branch == ref.name:
            yield ref, state
    yield from lost_refs(manifests)


def named_states(manifests: Manifests) -> Iterator[tuple[str | None, ManifestState | Damaged]]:
    """Every incarnation that a ref or a mark leads to, whether the ref is valid or not, with its newest state.

    The incarnation of a ref that cannot be read is not known. Main is read after the refs: a branch that is unconfirmed
    since main's fence was created before any newer fence.
    """
    named = set()
    for ref in [*stored_refs(manifests.store), main_ref(manifests)]:
        if isinstance(ref, Damaged):
            yield None, ref
        elif ref.incarnation not in named:
            named.add(ref.incarnation)
            yield from _with_state(manifests, ref)
    for incarnation, mark in marks(manifests.store):
        if incarnation not in named:
            # The path of a damaged mark still names its incarnation.
            yield from _with_state(
                manifests, Ref("", incarnation, None, None, 0) if isinstance(mark, Damaged) else mark
            )


def _with_state(manifests: Manifests, ref: Ref) -> Iterator[tuple[str, ManifestState | Damaged]]:
    state = _newest(manifests, ref)
    if state is not None:
        yield ref.incarnation, state


def _newest(manifests: Manifests, ref: Ref) -> ManifestState | Damaged | None:
    try:
        return newest_state(manifests, ref.incarnation)
    except StorageError as error:
        return Damaged.of(error, manifests.location(ref.incarnation), ref.name)


def newest_state(manifests: Manifests, incarnation: str) -> ManifestState | None:
    """The newest state of an incarnation; None if cleanup deleted it before its creator had named it."""
    try:
        return manifests.fresh(incarnation)
    except NotFoundError:
        return None


def lost_refs(manifests: Manifests) -> Iterator[Damaged]:
    """Branches that have a mark and no ref."""
    store = manifests.store
    # The order matters: list marks, list refs, read the marks again. A ref is created before its mark and deleted after
    # it, so a mark that exists at both times without a ref in between has lost its ref.
    found = [incarnation for incarnation, _ in marks(store)]
    refs = list(stored_refs(store)) if found else []
    readable = {ref.incarnation for ref in refs if isinstance(ref, Ref)}
    damaged = {ref.branch for ref in refs if isinstance(ref, Damaged)}
    for incarnation in found:
        mark = read_mark(store, incarnation) if incarnation not in readable else None
        if isinstance(mark, Damaged):
            yield mark
        elif mark is not None and mark.name not in damaged and not _is_deleted(manifests, mark):
            yield Damaged(ref_path(mark.name), f"is missing; {mark_path(incarnation)} is a copy of it", mark.name)


def _is_deleted(manifests: Manifests, ref: Ref) -> bool:
    """True for a branch that was deleted although its mark could not be removed."""
    state = _newest(manifests, ref)
    return isinstance(state, ManifestState) and state.branch == DELETED


def check_confirmed(manifests: Manifests, state: ManifestState) -> None:
    """Refuse a new branch whose files cleanup may have deleted during its creation."""
    if state.unconfirmed is None or is_confirmed(state, manifests.fresh(manifests.stamp.graph_id)):
        return
    during = f"branch {state.branch!r} was being created"
    # Any cleanup since then may still be deleting the manifest, whatever the newest one found.
    if was_nameless(manifests.store, state.incarnation, state.unconfirmed):
        raise _deleted(state, during)
    check_kept(manifests, state, during)


def is_confirmed(state: ManifestState, main: ManifestState) -> bool:
    """True if no cleanup deleted anything while a branch was being created. ``main`` was read after the branch's ref.

    Cleanup puts its fence on main as well, before it deletes anything and before it looks at the refs again.
    """
    return state.unconfirmed is None or state.unconfirmed == main.fence.number


def check_kept(manifests: Manifests, state: ManifestState, during: str) -> None:
    """Refuse a state that cleanup has given up, or that is in the history of no branch with confirmed files."""
    record = manifests.record()
    head = find_commit(manifests.store, state, state.head)
    is_given_up = head is None or record.given_up_since(head) is not None or state.incarnation in record.nameless
    # Another unconfirmed branch proves nothing: it may refer to the same deleted files.
    states = (other for _, other in named_states(manifests) if not isinstance(other, Damaged))
    sound = (other for other in states if other.unconfirmed is None)
    if is_given_up or not any(find_commit(manifests.store, other, state.head) is not None for other in sound):
        raise _deleted(state, during)


def _deleted(state: ManifestState, during: str) -> HistoryCleaned:
    return HistoryCleaned(
        f"cleanup may have deleted files of commit {state.head} while {during}",
        hint="try again; if the commit or its branch was deleted, start from a newer one",
        commit=state.head,
    )


def no_such_branch(manifests: Manifests, name: str) -> NotFoundError:
    """The error for a name that leads to no branch, with the nearest name."""
    names = [ref.name for ref in stored_refs(manifests.store) if isinstance(ref, Ref)]
    hint = did_you_mean(name, [MAIN, *names])
    return NotFoundError(f"there is no branch {name!r}", hint=hint or BRANCHES_HINT, branch=name)
