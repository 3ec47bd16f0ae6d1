"""Fences: what keeps cleanup from deleting files that a sleeping writer is about to publish.

An age check before publishing is no protection, because a writer can sleep between the check and the swap. So cleanup
swaps every branch before it deletes anything, and leaves its number there. A writer that staged before that swap loses
its own and finds a newer fence: its plan is staged again, or refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from omnigraph.errors import ContentionError, NotFoundError, StorageError
from omnigraph.history.state import Fence
from omnigraph.manifest.contention import Contention
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.replacement import replace_state
from omnigraph.storage.swap import SwapLost, SwapNotDurable, SwapUnclear

FENCE_ATTEMPTS_MAX = 200
"""Swaps tried to fence one branch, as for a write."""


class Fenced(Exception):
    """A plan that was staged before the newest fence of its branch: its files may be gone."""

    def __init__(self, fence: Fence) -> None:
        super().__init__(f"cleanup {fence.number} fenced the branch")
        self.fence = fence


def raise_fence(manifests: Manifests, incarnations: Iterable[str], fence: Fence) -> None:
    """Put a fence on branches. Afterwards no plan that was staged before it can be published there."""
    for incarnation in incarnations:
        _raise_one(manifests, incarnation, fence)


def _raise_one(manifests: Manifests, incarnation: str, fence: Fence) -> None:
    with Contention(manifests, incarnation, FENCE_ATTEMPTS_MAX) as attempts:
        for _ in attempts:
            try:
                state = manifests.reload(incarnation)
            except NotFoundError:
                # A ref without a manifest: there is nothing to publish to.
                return
            if state.fence.number >= fence.number:
                return
            try:
                replace_state(manifests, state, replace(state, fence=fence))
            except (SwapLost, SwapUnclear):
                continue
            except SwapNotDurable as error:
                raise StorageError(f"a fence may not be durable, and nothing was deleted: {error}") from error
            return
    raise ContentionError("the branch could not be fenced: others wrote first, again and again", hint="try again")
