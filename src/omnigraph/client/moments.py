"""Moments of a remote graph: ``HEAD~2``, times and beginnings of commit ids become a commit or a branch.

A server takes commits by their id and branches by name. Other forms are resolved here, from the lists of branches and
commits, in the order of ``engine.history.moments``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as time_of_day
from typing import assert_never

from omnigraph.core.commit import GraphCommit
from omnigraph.core.hints import commits_hint
from omnigraph.core.ids import is_ulid
from omnigraph.core.suggestions import did_you_mean
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
from omnigraph.manifest.layout import MAIN


@dataclass(frozen=True, slots=True)
class RemoteMoments:
    """The moments of one graph. Phrases such as ``2 hours ago`` count from the clock of this machine."""

    commit: Callable[[str], GraphCommit]
    """A commit by its id."""
    commits: Callable[[str], Iterable[GraphCommit]]
    """The commits of a branch, newest first."""
    branches: Callable[[], Iterable[str]]
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000

    def commit_id(self, said: str | date, branch: str | None = None) -> str:
        """The id of the commit that a text or time names. A complete id is not looked up."""
        if isinstance(said, str) and is_ulid(said.strip()):
            return said.strip()
        return self.find(said, branch).id

    def find(self, said: str | date, branch: str | None = None) -> GraphCommit:
        """The commit that a text or time names. ``branch`` is the one in context, otherwise ``main``."""
        if isinstance(said, str):
            return self._find(parse_moment(said, self.now_us()), said, branch)
        moment = said if isinstance(said, datetime) else datetime.combine(said, time_of_day.min)
        return self._on_branch(branch or MAIN, exact_us(moment), str(said))

    def _find(self, tree: MomentTree, said: str, branch: str | None) -> GraphCommit:
        match tree:
            case Head():
                return self._head(branch or MAIN)
            case OnBranch(named, time_us, _):
                return self._on_branch(named or branch or MAIN, time_us, said)
            case Named():
                return self._named(tree, said, branch)
            case Ancestor(of, generations):
                found = self._find(of, said, branch)
                for _ in range(generations):
                    found = self._parent(found, 1, said)
                return found
            case Parent(of, number):
                return self._parent(self._find(of, said, branch), number, said)
            case _:
                assert_never(tree)

    def _head(self, branch: str) -> GraphCommit:
        return next(iter(self.commits(branch)))

    def _on_branch(self, branch: str, time_us: int, said: str) -> GraphCommit:
        known = list(self.commits(branch))
        for commit in first_parents(known, known[0].id):
            if commit.created_at_us <= time_us:
                return commit
        raise NotFoundError(
            f"branch {branch} has no commit as old as {said}", hint=f"its first commit is {known[-1].id}", at=said
        )

    def _named(self, tree: Named, said: str, branch: str | None) -> GraphCommit:
        if is_ulid(tree.name):
            return self.commit(tree.name)
        if branch is not None and tree.time_us is not None:
            return self._on_branch(branch, tree.time_us, said)
        names = list(self.branches())
        if tree.name in names:
            return self._head(tree.name)
        if tree.time_us is not None:
            return self._on_branch(branch or MAIN, tree.time_us, said)
        return self._starting_with(tree.name, said, names)

    def _starting_with(self, prefix: str, said: str, names: list[str]) -> GraphCommit:
        wanted = prefix.upper()
        found = {
            commit.id: commit
            for name in (names if len(prefix) >= PREFIX_CHARS_MIN else ())
            for commit in self.commits(name)
            if commit.id.startswith(wanted)
        }
        if len(found) > 1:
            raise UsageError(
                f"{said!r} is ambiguous: {len(found)} commits begin with {prefix!r}",
                hint="write more characters of the id",
                candidates=tuple(sorted(found)),
            )
        if not found:
            hint = did_you_mean(prefix, names) or commits_hint(MAIN)
            raise NotFoundError(f"there is no branch and no commit {said!r}", hint=hint, name=said)
        return next(iter(found.values()))

    def _parent(self, child: GraphCommit, number: int, said: str) -> GraphCommit:
        if number > len(child.parents):
            raise NotFoundError(
                f"{said!r}: parent {number} of commit {child.id} does not exist; it has {len(child.parents)}",
                hint="a merge has two parents, the first commit of a graph has none, any other commit has one",
                moment=said,
            )
        return self.commit(child.parents[number - 1])
