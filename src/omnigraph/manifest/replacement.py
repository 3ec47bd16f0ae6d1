"""Replacing a branch's state by the next one: the only caller of the swap.

Every version records the files of the version before it. Exceptions of the swap are passed on: only the caller knows
whether to retry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.history.state import ManifestState, to_rows
from omnigraph.manifest.layout import rows_to_arrow
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.publish.swap import ManifestVersion, swap_manifest


def replace_state(
    manifests: Manifests, current: ManifestState, state: ManifestState, staged: Sequence[str] = ()
) -> ManifestState:
    """Publish ``state`` as the version after ``current``: SwapLost, SwapUnclear or SwapNotDurable if that fails."""
    place = ManifestVersion(manifests.location(current.incarnation), current.version)
    manifests.store.turns.wait(place.location)
    linked = replace(state, version=current.version + 1, previous=manifests.files(current))
    made = swap_manifest(manifests.store, place, rows_to_arrow(to_rows(linked)), staged)
    manifests.remember(linked, files=made.files)
    return linked
