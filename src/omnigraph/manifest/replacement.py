"""Replacing a branch's state by the next one: the only caller of the swap.

Every version records the files of the version before it. Exceptions of the swap are passed on: only the caller knows
whether to retry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.errors import OutcomeUnknown
from omnigraph.history.plan import PublishPlan
from omnigraph.history.state import ManifestState, to_rows
from omnigraph.manifest.layout import rows_to_arrow
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.publish.swap import ManifestVersion, SwapNotDurable, make_durable, swap_manifest
from omnigraph.storage.tables.store import Store


def replace_state(
    manifests: Manifests, current: ManifestState, state: ManifestState, plans: Sequence[PublishPlan] = ()
) -> ManifestState:
    """Publish ``state`` as the version after ``current``: SwapLost, SwapUnclear or SwapNotDurable if that fails.

    A StorageError means that the swap was not tried: a file could not be made durable, of one of the plans or of the
    manifest.
    """
    place = ManifestVersion(manifests.location(current.incarnation), current.version)
    manifests.store.turns.wait(place.location)
    linked = replace(state, version=current.version + 1, previous=manifests.files(current))
    staged = [record.path for plan in plans for record in plan.files]
    made = swap_manifest(manifests.store, place, rows_to_arrow(to_rows(linked)), staged, _versions(state, plans))
    manifests.remember(linked, files=made.files)
    return linked


def _versions(state: ManifestState, plans: Sequence[PublishPlan]) -> list[str]:
    """The table versions that a state and the commits in it refer to, by their manifests."""
    pins = [(pin.location, pin.lance_version) for pin in (*state.tables.values(), state.log) if pin is not None]
    return [manifest_file(*version) for version in (*pins, *(item for plan in plans for item in plan.versions))]


def settle(store: Store, plan: PublishPlan) -> None:
    """Wait until the files of a plan are stored; raises StorageError if one is not."""
    if store.outbox is not None:
        store.outbox.settle([*(record.path for record in plan.files), *(manifest_file(*it) for it in plan.versions)])


def confirm(manifests: Manifests, state: ManifestState, commit_id: str) -> None:
    """Make a version durable that another process may have published, before a commit in it is reported."""
    try:
        make_durable(manifests.store, manifests.location(state.incarnation), state.version)
    except SwapNotDurable as error:
        raise OutcomeUnknown(commit_id, f"it is visible but may not be durable: {error}") from error
