"""Fences: they keep cleanup from deleting files that a suspended writer is about to publish.

An age check before publishing is no protection, because a process can be suspended between the check and the swap.
Therefore cleanup swaps every branch before it deletes anything, and records its number there. A writer that staged
before that swap loses its own swap and finds a newer fence: its plan is staged again, or refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.errors import ContentionError, NotFoundError, StorageError
from omnigraph.history.state import Fence, ManifestState
from omnigraph.manifest.branches import is_confirmed
from omnigraph.manifest.contention import Contention
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.replacement import replace_state
from omnigraph.storage.publish.swap import SwapLost, SwapNotDurable, SwapUnclear

FENCE_ATTEMPTS_MAX = 200
"""Swaps attempted to fence one branch, as for a write."""


class Fenced(Exception):
    """A plan that was staged before the newest fence of its branch: its files may have been deleted."""

    def __init__(self, fence: Fence) -> None:
        super().__init__(f"cleanup {fence.number} fenced the branch")
        self.fence = fence


def raise_fence(manifests: Manifests, heads: Mapping[str, ManifestState], fence: Fence) -> bool:
    """Put a fence on branches; False if a newer cleanup came first, and this one has to start again.

    Afterwards no plan that was staged before the fence can be published. ``heads`` are the states of all branches by
    incarnation, main's read after the refs.
    """
    main = heads[manifests.stamp.graph_id]
    return all(
        _raise_one(manifests, incarnation, fence, is_confirmed=is_confirmed(state, main))
        for incarnation, state in heads.items()
    )


def _raise_one(manifests: Manifests, incarnation: str, fence: Fence, *, is_confirmed: bool) -> bool:
    with Contention(manifests, incarnation, FENCE_ATTEMPTS_MAX) as attempts:
        for _ in attempts:
            try:
                state = manifests.reload(incarnation)
            except NotFoundError:
                # A ref without a manifest: there is nothing to publish to.
                return True
            if state.fence.number >= fence.number:
                # Behind a newer fence a load may have proved that its files escaped that cleanup, and not this one.
                return state.fence.number == fence.number
            # The cleanup of an earlier fence may still be deleting: a load that looks only now must have escaped both.
            raised = replace(fence, cutoff_us=max(fence.cutoff_us, state.fence.cutoff_us))
            unconfirmed = None if is_confirmed else state.unconfirmed
            try:
                replace_state(manifests, state, replace(state, fence=raised, unconfirmed=unconfirmed))
            except (SwapLost, SwapUnclear):
                continue
            except SwapNotDurable as error:
                raise StorageError(f"a fence may not be durable, and nothing was deleted: {error}") from error
            return True
    raise ContentionError("the branch could not be fenced: other writers won every swap", hint="run cleanup again")
