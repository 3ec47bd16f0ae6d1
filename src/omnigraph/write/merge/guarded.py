"""Decisions of merges and reverts within the data rules of an actor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import Capture, Manifests
from omnigraph.write.merge.conflicts import conflicts_error
from omnigraph.write.merge.decide import MergeDecision, decide_merge
from omnigraph.write.merge.images import MergeRules
from omnigraph.write.merge.parts import DistributedMerge

DecisionGuard = Callable[[Manifests, ManifestState, Capture, Callable[[], MergeDecision]], MergeDecision]
"""Data rules of an actor: called with the source, the target, and the function that decides. It refuses the decision,
or gives the part of it that the actor may see."""


def guarded(
    guard: DecisionGuard | None,
    manifests: Manifests,
    source: ManifestState,
    target: Capture,
    decide: Callable[[], MergeDecision],
) -> MergeDecision:
    """Decide within the data rules of an actor, if there are some."""
    return decide() if guard is None else guard(manifests, source, target, decide)


def prepare_merge(
    manifests: Manifests,
    source: ManifestState,
    rules: MergeRules,
    distributed: DistributedMerge | None,
    guard: DecisionGuard | None,
    target: Capture,
) -> MergeDecision:
    """Decide a merge that is to be committed; raises MergeConflicts."""
    decide = partial(decide_merge, manifests, source, target, rules, distributed)
    decision = guarded(guard, manifests, source, target, decide)
    if decision.conflicts:
        raise conflicts_error(decision.conflicts, f"{source.branch} cannot be merged into {target.state.branch}")
    return decision
