"""The branch verbs of ``Graph``."""

from __future__ import annotations

from omnigraph.engine.history_verbs import History
from omnigraph.engine.results import BranchInfo, BranchList, BranchLoss
from omnigraph.engine.telemetry import told
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches, naming
from omnigraph.manifest.commit_log import newest_first
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.refs import Damaged, Ref


class Branching(History):
    """Branches of a graph."""

    @told("create_branch")
    def create_branch(
        self, name: str, parent: str = MAIN, *, at: str | None = None, actor: str | None = None
    ) -> BranchInfo:
        """Make a branch from the head of another, or from any commit (``at``). No data is copied."""
        checked = branches.check_name(name)

        def capture() -> ManifestState:
            return self._manifests.at(self.commit(at)) if at is not None else self._head(parent)

        wanted = Ref(checked, self._ids.new_id(), None, actor, self._clock.now_us())
        return _branch_info(*naming.create_branch(self._manifests, wanted, capture))

    def branches(self) -> BranchList:
        """Every branch with its head, ``main`` first: a list that shows itself well.

        Branches that cannot be read are in its ``damaged``, with the file and the reason.
        """
        found = list(branches.every_branch(self._manifests))
        readable = [_branch_info(*item) for item in found if not isinstance(item, Damaged)]
        return BranchList(readable, (item for item in found if isinstance(item, Damaged)))

    def delete_branch_preview(self, name: str) -> BranchLoss:
        """What would be lost with a branch: the commits that no other branch has."""
        naming.check_deletable(name)
        head = self._head(name)
        others = {
            commit.id
            for item in branches.every_branch(self._manifests)
            if not isinstance(item, Damaged) and item[0].name != head.branch
            for commit in newest_first(self._store, item[1])
        }
        lost = [commit.id for commit in newest_first(self._store, head) if commit.id not in others]
        return BranchLoss(head.branch, head.head, tuple(lost))

    @told("delete_branch")
    def delete_branch(self, name: str) -> None:
        """Forget a branch, even one whose ref is damaged. Its commits stay readable until cleanup."""
        naming.delete_branch(self._manifests, name)

    @told("rename_branch")
    def rename_branch(self, name: str, new_name: str) -> None:
        """Give a branch another name."""
        naming.rename_branch(self._manifests, name, new_name, self._ids.new_id())


def _branch_info(ref: Ref, state: ManifestState) -> BranchInfo:
    return BranchInfo(ref.name, state.head, ref.created_at_us, ref.parent_commit, ref.actor)
