"""Creating, deleting and renaming branches.

Invariant: every deciding step is a swap of the branch's manifest or a create-if-absent of a ref. A ref is deleted only
if it still has the content that was read. So of several processes that want one name exactly one gets it. A
process that crashes half-way leaves a ref that is not valid, which the next process removes.

- A rename announces the new name in the manifest, creates the ref, swaps the name in the manifest (the commit point),
  and deletes the old ref.
- To take a name from an interrupted rename, its announcement is swapped away first: then that rename can no longer
  complete with the ref that it created.
- A deletion removes the name from the manifest (the commit point), then deletes the ref.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from omnigraph.errors import (
    AlreadyExistsError,
    ContentionError,
    CorruptionError,
    HistoryCleaned,
    NotFoundError,
    OutcomeUnknown,
    StorageError,
    UsageError,
)
from omnigraph.history.state import ManifestState, fork, to_rows
from omnigraph.manifest.branches import check_confirmed, check_name, is_confirmed, newest_state, no_such_branch
from omnigraph.manifest.layout import DELETED, MAIN, WITHDRAWN, ref_path, rows_to_arrow
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Ref, add_mark, marks, read_ref, remove_mark, stored_refs
from omnigraph.manifest.replacement import replace_state
from omnigraph.storage.publish.swap import SwapLost, SwapNotDurable, SwapUnclear, create_manifest

ATTEMPTS_MAX = 200
"""Swaps attempted for one change of a name, as for a write."""


def create_branch(manifests: Manifests, ref: Ref, capture: Callable[[], ManifestState]) -> tuple[Ref, ManifestState]:
    """Copy a state into a new incarnation, then take the name. A crash in between leaves only garbage.

    The fence is read before ``capture`` reads the state. If cleanup deletes anything before the name is taken, the
    check below or the first writer detects it.
    """
    check_name(ref.name)
    if ref.name == MAIN:
        raise _taken(ref.name)
    _free(manifests, ref.name)
    fence = manifests.warm(manifests.stamp.graph_id).fence
    parent = capture()
    # A branch that may refer to deleted files must not be forked.
    check_confirmed(manifests, parent)
    ref = replace(ref, parent_commit=parent.head)
    state = fork(parent, ref.name, ref.incarnation, fence)
    try:
        made = create_manifest(manifests.store, manifests.location(ref.incarnation), rows_to_arrow(to_rows(state)))
    except StorageError:
        # Cleanup deletes manifests without a name: then this failure is its doing.
        check_confirmed(manifests, state)
        raise
    if not manifests.store.objects.create(ref_path(ref.name), ref.to_bytes()):
        raise _taken(ref.name)
    state = replace(state, version=made.version)
    manifests.remember(state, files=made.files)
    try:
        _confirm(manifests, ref, state)
    except StorageError as error:
        # The branch has its name, and this process cannot see whether it keeps it.
        raise OutcomeUnknown(None, str(error), change=f"branch {ref.name} was created") from error
    add_mark(manifests.store, ref)
    return ref, state


def _confirm(manifests: Manifests, ref: Ref, state: ManifestState) -> None:
    """Withdraw a branch whose files may have been deleted, unless it was confirmed since."""
    if is_confirmed(state, manifests.fresh(manifests.stamp.graph_id)):
        return
    refusal: HistoryCleaned | None = None
    try:
        check_confirmed(manifests, state)
    except HistoryCleaned as error:
        refusal = error
    for _ in range(ATTEMPTS_MAX):
        newest = newest_state(manifests, ref.incarnation)
        if newest is None or newest.branch == WITHDRAWN:
            break
        if newest.unconfirmed is None:
            return
        # Record the confirmation now: it is derived from the parent, which may be deleted later.
        decided = replace(newest, unconfirmed=None) if refusal is None else replace(newest, branch=WITHDRAWN)
        if _swapped(manifests, newest, decided):
            break
    if refusal is not None:
        manifests.store.objects.delete_if(ref_path(ref.name), ref.to_bytes())
        raise refusal


def _taken(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"branch {name!r} exists already", hint="choose another name or delete it", branch=name)


def check_deletable(name: str) -> None:
    """Raise for ``main``, which every graph has."""
    if name == MAIN:
        raise UsageError(
            "main cannot be deleted", hint="every graph has it; revert its commits, or delete other branches"
        )


def delete_branch(manifests: Manifests, name: str) -> None:
    """Remove the name from the manifest, then delete the ref. The incarnation stays for readers, and for cleanup.

    The swap is the commit point: if only the ref were deleted, a rename in progress would bring the branch back. A
    damaged or lost ref can be deleted too, which frees its name.
    """
    check_deletable(name)
    objects, path = manifests.store.objects, ref_path(check_name(name))
    content = objects.read(path)
    ref = _readable(manifests, check_name(name))
    marked = _marked_as(manifests, check_name(name), ref)
    is_decided = False
    if ref is not None:
        try:
            is_decided = _taken_away(manifests, ref)
        except (NotFoundError, CorruptionError):
            # No manifest to swap: the ref is all that is left of the branch.
            is_decided = False
        else:
            if not is_decided:
                # Leave the ref: a rename may be about to make it valid.
                raise no_such_branch(manifests, name)
    try:
        for incarnation in marked:
            remove_mark(manifests.store, incarnation)
        is_decided |= objects.delete_if(path, content) if content is not None else bool(marked)
        for incarnation in marked:
            # Again: the creator of the branch may have written it in between.
            remove_mark(manifests.store, incarnation)
    except (StorageError, OutcomeUnknown):
        if not is_decided:
            raise
    if not is_decided:
        raise no_such_branch(manifests, name)


def _readable(manifests: Manifests, name: str) -> Ref | None:
    try:
        return read_ref(manifests.store, name)
    except CorruptionError:
        return None


def _marked_as(manifests: Manifests, name: str, ref: Ref | None) -> list[str]:
    """The incarnations whose marks belong to the ref of a name, readable or not."""
    if ref is not None:
        return [ref.incarnation]
    named = {other.incarnation for other in stored_refs(manifests.store) if isinstance(other, Ref)}
    return [
        incarnation
        for incarnation, mark in marks(manifests.store)
        if isinstance(mark, Ref) and mark.name == name and incarnation not in named
    ]


def _taken_away(manifests: Manifests, ref: Ref) -> bool:
    """Remove the name from the manifest; False if the ref is not valid."""
    change = f"branch {ref.name} was deleted"
    is_unclear = False
    for _ in range(ATTEMPTS_MAX):
        state = _looked_up(manifests, ref.incarnation, change if is_unclear else None)
        if state.branch != ref.name:
            return is_unclear and state.branch == DELETED
        try:
            replace_state(manifests, state, replace(state, branch=DELETED, renaming=None))
        except SwapLost:
            continue
        except SwapUnclear:
            is_unclear = True
        except SwapNotDurable as error:
            raise OutcomeUnknown(None, str(error), change=change) from error
        else:
            return True
    raise _contended(ref.name)


def _looked_up(manifests: Manifests, incarnation: str, unclear_change: str | None) -> ManifestState:
    """The newest state. If it cannot be read after an unclear swap, the outcome of the change is unknown."""
    try:
        return manifests.fresh(incarnation)
    except StorageError as error:
        if unclear_change is None:
            raise
        raise OutcomeUnknown(None, str(error), change=unclear_change) from error


def _stored(manifests: Manifests, name: str) -> tuple[Ref, bytes] | None:
    """A ref with its content, which a conditional delete needs."""
    content = manifests.store.objects.read(ref_path(name))
    return None if content is None else (Ref.from_bytes(content, ref_path(name)), content)


def _free(manifests: Manifests, name: str) -> None:
    """Remove a ref that is not valid; AlreadyExistsError if it is."""
    for _ in range(ATTEMPTS_MAX):
        stored = _stored(manifests, name)
        if stored is None:
            return
        ref, content = stored
        state = newest_state(manifests, ref.incarnation)
        if state is not None and state.branch == name:
            raise _taken(name)
        if state is not None and state.renaming is not None and _announced_name(state.renaming) == name:
            # Its rename crashed or is in progress: without the announcement it cannot complete.
            _swapped(manifests, state, replace(state, renaming=None))
            continue
        manifests.store.objects.delete_if(ref_path(name), content)
    raise _contended(name)


def rename_branch(manifests: Manifests, name: str, new_name: str, token: str) -> Ref:
    """Give an incarnation another name. Idempotent: repeated after a crash, it completes the rename."""
    if name == MAIN:
        raise UsageError("main cannot be renamed", hint="every graph has it; create a branch at its head instead")
    stored = _stored(manifests, check_name(name))
    if stored is None:
        raise no_such_branch(manifests, name)
    old, content = stored
    new = replace(old, name=check_name(new_name), token=token)
    if new.name in (MAIN, old.name):
        raise _taken(new.name)
    _move(manifests, old, new)
    # The rename is committed: a failure from here on must not be reported as a failed rename. An old ref that stays is
    # not valid, and the next process that wants the name removes it.
    ref = new
    with suppress(StorageError, OutcomeUnknown):
        manifests.store.objects.delete_if(ref_path(old.name), content)
        ref = read_ref(manifests.store, new.name) or new
    add_mark(manifests.store, ref)
    return ref


def _move(manifests: Manifests, old: Ref, new: Ref) -> None:
    """Announce the name, create its ref, swap the name; repeat each step while other writers change the manifest."""
    change = f"branch {old.name} was renamed to {new.name}"
    is_unclear = False
    taking = new
    for attempt in range(ATTEMPTS_MAX):
        state = _looked_up(manifests, old.incarnation, change if is_unclear else None)
        if state.renaming == _announcement(old):
            # The old ref is not a leftover: another rename has just created it and is about to use it.
            raise no_such_branch(manifests, old.name)
        if state.branch == new.name:
            return
        if state.branch != old.name:
            raise no_such_branch(manifests, old.name)
        check_confirmed(manifests, state)
        if state.renaming != _announcement(taking):
            # Every announcement has a token of its own. One that was swapped away is never repeated, so the next
            # process that finds its ref may delete it.
            taking = replace(new, token=f"{new.token}.{attempt}")
            _swapped(manifests, state, replace(state, renaming=_announcement(taking)))
            continue
        # The state was read before the ref is created: if another process swaps the announcement away in between and
        # deletes the ref, the swap below is lost.
        renamed = replace(state, branch=new.name, renaming=None)
        if _took(manifests, state, taking) and _swapped(manifests, state, renamed, change):
            # Not read again: other processes may have renamed or deleted it since, but this rename did happen.
            return
        is_unclear = True
    raise _contended(old.name)


def _announcement(new: Ref) -> str:
    """The name with the token of the rename, so that no rename completes with the ref of another one."""
    return f"{new.name} {new.token}"


def _announced_name(announcement: str) -> str:
    return announcement.partition(" ")[0]


def _took(manifests: Manifests, state: ManifestState, new: Ref) -> bool:
    """Create the ref of the new name; AlreadyExistsError if another branch has the name.

    False if another rename of the same branch to the name is in progress or done.
    """
    for _ in range(ATTEMPTS_MAX):
        if manifests.store.objects.create(ref_path(new.name), new.to_bytes()):
            return True
        stored = _stored(manifests, new.name)
        if stored is None:
            continue
        ref, content = stored
        if ref == new:
            return True
        if ref.incarnation == new.incarnation:
            newest = manifests.fresh(new.incarnation)
            if newest.branch == ref.name or newest.renaming == _announcement(ref):
                return False
            manifests.store.objects.delete_if(ref_path(new.name), content)
            continue
        try:
            _free(manifests, new.name)
        except AlreadyExistsError:
            _swapped(manifests, state, replace(state, renaming=None))
            raise
    raise _contended(new.name)


def _swapped(manifests: Manifests, current: ManifestState, state: ManifestState, change: str | None = None) -> bool:
    """Swap a manifest; False if the swap is not known to have happened, and the caller reads the state again."""
    try:
        replace_state(manifests, current, state)
    except (SwapLost, SwapUnclear):
        return False
    except SwapNotDurable as error:
        if change is not None:
            raise OutcomeUnknown(None, str(error), change=change) from error
    return True


def _contended(name: str) -> ContentionError:
    return ContentionError(
        f"branch {name!r} could not be changed: other writers won {ATTEMPTS_MAX} swaps", hint="try again"
    )
