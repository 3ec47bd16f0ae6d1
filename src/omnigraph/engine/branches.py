"""Branches of a graph: create, list, and what a deletion would lose."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from omnigraph.engine.history.moments import Moments
from omnigraph.engine.results import BranchInfo, BranchList, BranchLoss
from omnigraph.history.commits import relate
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches, naming
from omnigraph.manifest.commit_log import Lineage, newest_first
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Damaged, Ref
from omnigraph.write.context import WriteContext


def create_branch(
    context: WriteContext, name: str, parent: str, at: str | date | None, actor: str | None
) -> BranchInfo:
    """Create a branch at the head of another one, or at any moment."""
    manifests = context.manifests
    moments = Moments.of(context)
    checked = branches.check_name(name)

    def capture() -> ManifestState:
        return moments.state(parent) if at is None else moments.state(at, parent)

    wanted = Ref(checked, context.ids.new_id(), None, actor, context.clock.now_us())
    return _branch_info(*naming.create_branch(manifests, wanted, capture))


def list_branches(manifests: Manifests, against: str | None = None) -> BranchList:
    """Every readable branch, ``main`` first, and the damaged ones beside them."""
    target = None if against is None else branches.find_head(manifests, against)
    found = list(branches.every_branch(manifests))
    readable = [_compared(manifests, *item, target) for item in found if not isinstance(item, Damaged)]
    return BranchList(readable, (item for item in found if isinstance(item, Damaged)))


def _compared(manifests: Manifests, ref: Ref, state: ManifestState, target: ManifestState | None) -> BranchInfo:
    info = _branch_info(ref, state)
    if target is None:
        return info
    relation = relate(state.head, target.head, Lineage(manifests.store, state, target))
    return replace(info, ahead=len(relation.only_source), behind=len(relation.only_target))


def branch_loss(manifests: Manifests, name: str) -> BranchLoss:
    """The commits that no other branch has."""
    naming.check_deletable(name)
    head = branches.find_head(manifests, name)
    others = {
        commit.id
        for item in branches.every_branch(manifests)
        if not isinstance(item, Damaged) and item[0].name != head.branch
        for commit in newest_first(manifests.store, item[1])
    }
    lost = [commit.id for commit in newest_first(manifests.store, head) if commit.id not in others]
    return BranchLoss(head.branch, head.head, tuple(lost))


def _branch_info(ref: Ref, state: ManifestState) -> BranchInfo:
    return BranchInfo(ref.name, state.head, ref.created_at_us, ref.parent_commit, ref.actor)
