"""Random histories with optimize and cleanup among them: what stays reads as before, everything else is gone."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test

from omnigraph.core.tuning import Tuning
from omnigraph.errors import AlreadyExistsError, HistoryCleaned, NotFoundError
from tests.promises.cleanup.graphs import check_tidy
from tests.promises.cleanup.reachable import files, needed, readable_commits
from tests.promises.model.operations import parse
from tests.promises.model.test_model import BRANCHES, HANDLES, GraphMachine

KEEPS = st.sampled_from([None, 1, 1, 2, 3, 6])


class CleanedMachine(GraphMachine):
    """The model of a graph, and which of its commits are given up and gone."""

    cleanups: ClassVar[int] = 0
    tuning: ClassVar[Tuning] = replace(GraphMachine.tuning, index_rows_min=1)

    @initialize()
    def create(self) -> None:
        super().create()
        self.given_up: set[str] = set()
        self.gone: set[str] = set()

    @rule(data=st.data(), number=HANDLES)
    def optimize(self, data: st.DataObject, number: int) -> None:
        name = self.branch(data)
        for commit in self.handles[number].optimize(name).commits:
            self.model.commit(name, commit.id, self.model.branches[name].tables)
        self.compare(self.handles[1 - number], name)

    @rule(number=HANDLES, keep=KEEPS, is_at_once=st.sampled_from([True, True, False]))
    def cleanup(self, number: int, keep: int | None, is_at_once: bool) -> None:
        self.handles[number].cleanup(keep=keep, grace="0s" if is_at_once else "24h")
        self._expect_cleanup(keep, is_at_once)
        CleanedMachine.cleanups += 1
        root = Path(self.uri)
        logs = [set(branch.commits) for branch in self.model.branches.values()]
        assert readable_commits(root).keys() == set().union(*logs) - self.given_up - self.gone
        if is_at_once:
            check_tidy(self.open())
        else:
            assert needed(root) <= files(root)

    def _expect_cleanup(self, keep: int | None, is_at_once: bool) -> None:
        logs = [branch.commits for branch in self.model.branches.values()]
        fixed = {log[-1] for log in logs}
        for one, other in combinations(logs, 2):
            shared = [left for left, right in zip(one, other, strict=False) if left == right]
            fixed.add(shared[-1])
        for commit in {commit for log in logs for commit in log} - self.gone:
            is_wanted = commit not in self.given_up if keep is None else any(commit in log[-keep:] for log in logs)
            if commit in fixed or is_wanted:
                self.given_up.discard(commit)
                continue
            self.given_up.add(commit)
            if is_at_once:
                self.gone.add(commit)

    @rule(data=st.data(), number=HANDLES, name=st.sampled_from(BRANCHES))
    def create_branch_at_any_commit(self, data: st.DataObject, number: int, name: str) -> None:
        origin = self.model.branches[self.branch(data)]
        commit = data.draw(st.sampled_from(origin.commits), label="at")
        handle = self.handles[number]
        if commit in self.given_up | self.gone:
            with pytest.raises(HistoryCleaned):
                handle.create_branch(name, at=commit)
        elif name in self.model.branches:
            with pytest.raises(AlreadyExistsError):
                handle.create_branch(name, at=commit)
        else:
            handle.create_branch(name, at=commit)
            self.model.fork(name, origin, commit)
            self.compare(handle, name)

    @rule(data=st.data(), number=HANDLES, name=st.sampled_from(BRANCHES))
    def create_branch(self, data: st.DataObject, number: int, name: str) -> None:
        parent = self.branch(data)
        if name not in self.model.branches:
            self.handles[number].create_branch(name, parent)
            origin = self.model.branches[parent]
            self.model.fork(name, origin, origin.commits[-1])
            self.compare(self.handles[1 - number], name)

    @rule(data=st.data(), number=HANDLES)
    def travel(self, data: st.DataObject, number: int) -> None:
        commit = data.draw(st.sampled_from(sorted(self.model.states)), label="commit")
        handle = self.handles[number]
        if not self.model.is_visible(commit):
            with pytest.raises(NotFoundError, match="there is no commit"):
                handle.snapshot(at=commit)
        elif commit in self.given_up | self.gone:
            with pytest.raises(HistoryCleaned):
                handle.snapshot(at=commit)
        else:
            assert parse(handle.export(at=commit)) == self.model.states[commit]


def test_what_is_kept_reads_as_before_and_the_rest_is_gone() -> None:
    CleanedMachine.cleanups = 0
    run_state_machine_as_test(CleanedMachine, settings=settings(max_examples=12, stateful_step_count=25))
    assert CleanedMachine.cleanups > 10


@pytest.mark.long
@pytest.mark.parametrize("steps", [25, 80])
def test_what_is_kept_reads_as_before_and_the_rest_is_gone_for_long(steps: int) -> None:
    run_state_machine_as_test(
        CleanedMachine, settings=settings(max_examples=150, stateful_step_count=steps, derandomize=False)
    )
