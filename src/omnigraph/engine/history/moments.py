"""Resolution of moments: from a text, a time or a snapshot to a commit of the graph, and to its state.

The meaning of a plain name is decided in this order: a complete commit id, a branch, a time, the prefix of a commit.
So a branch that is called like a time or a prefix stays reachable.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from typing import assert_never

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.commit import GraphCommit
from omnigraph.core.hints import commits_hint
from omnigraph.core.ids import is_ulid
from omnigraph.core.suggestions import did_you_mean
from omnigraph.core.temporal import format_datetime
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.history.commits import first_parents
from omnigraph.history.moments import (
    PREFIX_CHARS_MIN,
    Ancestor,
    Head,
    MomentTree,
    Named,
    OnBranch,
    Parent,
    exact_us,
    parse_moment,
)
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import Lineage, newest_first
from omnigraph.manifest.commit_log import find_commit as find_in_branch
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Ref, stored_refs
from omnigraph.write.context import WriteContext

CANDIDATES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Found:
    """A commit, and a state of a branch whose history holds it and its ancestors."""

    commit: GraphCommit
    state: ManifestState

    @property
    def is_head(self) -> bool:
        return self.commit.id == self.state.head


@dataclass(frozen=True, slots=True)
class Moments:
    """The moments of one graph. ``now_us`` is its clock, which phrases such as ``2 hours ago`` count from."""

    manifests: Manifests
    now_us: Callable[[], int]

    @staticmethod
    def of(context: WriteContext) -> Moments:
        """The moments of the graph that a writer works on."""
        return Moments(context.manifests, context.clock.now_us)

    def find(self, said: str | date, branch: str | None = None) -> Found:
        """The commit that a text or time names. ``branch`` is the one in context, otherwise ``main``."""
        if isinstance(said, str):
            return self._find(parse_moment(said, self.now_us()), said, branch)
        if isinstance(said, date):
            moment = said if isinstance(said, datetime) else datetime.combine(said, time.min)
            return self._on_branch(branch or MAIN, exact_us(moment), str(said))
        raise UsageError(
            f"a moment is a text, a time or a snapshot, not {type(said).__name__}: {said!r}",
            hint='write a commit, a branch, a time, or a form such as "main~2"',
        )

    def commit(self, said: str | date, branch: str | None = None) -> GraphCommit:
        """The same without the state."""
        return self.find(said, branch).commit

    def state(self, said: str | date, branch: str | None = None) -> ManifestState:
        """The state of the graph at a moment."""
        found = self.find(said, branch)
        # The state of the head is here already; any other one is read, if cleanup has left it.
        return found.state if found.is_head else self.manifests.at(found.commit)

    def _find(self, tree: MomentTree, said: str, branch: str | None) -> Found:
        match tree:
            case Head(name):
                return self._head(branch or (name if self._is_branch(name) else MAIN))
            case OnBranch(named, time_us, _):
                return self._on_branch(named or branch or MAIN, time_us, said)
            case Named():
                return self._named(tree, said, branch)
            case Ancestor(of, generations):
                return self._ancestor(self._find(of, said, branch), generations, said)
            case Parent(of, number):
                return self._parent(self._find(of, said, branch), number, said)
            case _:
                assert_never(tree)

    def _is_branch(self, name: str) -> bool:
        try:
            branches.find_ref(self.manifests, name)
        except (NotFoundError, UsageError):
            return False
        return True

    def _head(self, branch: str) -> Found:
        state = branches.find_head(self.manifests, branch)
        commit = state.commit(state.head)
        assert commit is not None, "a manifest holds the commits of its own version"
        return Found(commit, state)

    def _on_branch(self, branch: str, time_us: int, said: str) -> Found:
        head = branches.find_head(self.manifests, branch)
        oldest = None
        for commit in first_parents(newest_first(self.manifests.store, head), head.head):
            if commit.created_at_us <= time_us:
                return Found(commit, head)
            oldest = commit
        assert oldest is not None, "every branch has a commit"
        raise NotFoundError(
            f"branch {branch} has no commit as old as {said}",
            hint=f"its first commit is {oldest.id} of {format_datetime(oldest.created_at_us // 1000)}",
            at=said,
        )

    def _named(self, tree: Named, said: str, branch: str | None) -> Found:
        name = tree.name
        if is_ulid(name):
            return self._with_id(name)
        if branch is not None and tree.time_us is not None:
            return self._on_branch(branch, tree.time_us, said)
        try:
            return self._head(name)
        except (NotFoundError, UsageError):
            if tree.time_us is not None:
                return self._on_branch(branch or MAIN, tree.time_us, said)
        return self._starting_with(name, said)

    def _with_id(self, commit_id: str) -> Found:
        # Ids are unique, so the request that would look for a branch of that name first is saved.
        try:
            from omnigraph.engine.history.commits import find_with_state

            return Found(*find_with_state(self.manifests, commit_id))
        except NotFoundError as no_commit:
            try:
                return self._head(commit_id)
            except NotFoundError:
                raise no_commit from None

    def _starting_with(self, prefix: str, said: str) -> Found:
        from omnigraph.engine.history.commits import commits_starting_with

        found = commits_starting_with(self.manifests, prefix) if len(prefix) >= PREFIX_CHARS_MIN else {}
        if len(found) > 1:
            shown = ", ".join(sorted(found, reverse=True)[:CANDIDATES_SHOWN])
            raise UsageError(
                f"{said!r} is ambiguous: {'more than ' * (len(found) > CANDIDATES_SHOWN)}"
                f"{min(len(found), CANDIDATES_SHOWN)} commits begin with {prefix!r}",
                hint=f"write more characters of one of them: {shown}",
                candidates=tuple(sorted(found)),
            )
        if not found:
            raise self._nothing(prefix, said)
        ((commit_id, state),) = found.items()
        commit = find_in_branch(self.manifests.store, state, commit_id)
        assert commit is not None, "the search has just found it in this state"
        return Found(commit, state)

    def _nothing(self, name: str, said: str) -> NotFoundError:
        named = [ref.name for ref in stored_refs(self.manifests.store) if isinstance(ref, Ref)]
        main = branches.find_head(self.manifests, MAIN)
        known = [MAIN, *named, *(commit.id for commit in main.commits)]
        hint = did_you_mean(name, known)
        if hint is None and len(name) < PREFIX_CHARS_MIN:
            hint = f"the beginning of a commit id needs at least {PREFIX_CHARS_MIN} characters"
        return NotFoundError(f"there is no branch and no commit {said!r}", hint=hint or commits_hint(MAIN), name=said)

    def _ancestor(self, start: Found, generations: int, said: str) -> Found:
        lineage = Lineage(self.manifests.store, start.state)
        commit = start.commit
        for number in range(generations):
            if not commit.parents:
                raise NotFoundError(
                    f"{said!r} goes back further than the history: {start.commit.id} has {number} ancestors",
                    hint=f"the first commit is {commit.id}",
                    moment=said,
                )
            commit = lineage(commit.parents[0])
        return Found(commit, start.state)

    def _parent(self, child: Found, number: int, said: str) -> Found:
        parents = child.commit.parents
        if number > len(parents):
            raise NotFoundError(
                f"{said!r}: parent {number} of commit {child.commit.id} does not exist; it has {len(parents)}",
                hint="a merge has two parents, the first commit of a graph has none, any other commit has one",
                moment=said,
            )
        return Found(Lineage(self.manifests.store, child.state)(parents[number - 1]), child.state)
