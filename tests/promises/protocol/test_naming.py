"""Names of branches under every interleaving: no branch is lost, no name leads to two, nothing stays blocked."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import count, product

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import omnigraph
from tests.promises.protocol.graphs import insert
from tests.promises.protocol.graphs import names as people
from tests.promises.protocol.naming import (
    CHANGES,
    DONE,
    EXISTS,
    MISSING,
    STOPPED,
    Answer,
    Change,
    Party,
    Steps,
    Stopped,
    allowed,
    names,
    run_serially,
)

POINTS_MAX = 40
"""More points than any change has."""

STARTS: list[tuple[str, ...]] = [("x",), ("x", "y")]
RENAME = Change("rename", "x", "y")


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], str]:
    """Fresh copies of a graph with some branches."""
    directory = tmp_path_factory.mktemp("naming")
    numbers = count()
    for start in STARTS:
        graph = omnigraph.create(directory / "-".join(start), "node Person { name: String @key }", durability="os")
        for name in start:
            graph.create_branch(name)
            insert(graph, f"of-{name}", branch=name)

    def copy(start: tuple[str, ...]) -> str:
        return str(shutil.copytree(directory / "-".join(start), directory / str(next(numbers))))

    return copy


Copies = Callable[[tuple[str, ...]], str]


def _interleaved(uri: str, changes: list[Change], points: list[int], is_stopped: bool) -> list[Answer]:
    """Every change is interrupted at its point by the next one; the first one perhaps does not go on after that."""
    answers: list[Answer] = []

    def interrupt(number: int) -> None:
        make(number + 1)
        if is_stopped and number == 0:
            raise Stopped

    def make(number: int) -> None:
        others = Steps(points[number], lambda: interrupt(number)) if number + 1 < len(changes) else Steps()
        answer = Party(uri, others).make(changes[number])
        answers.append(answer)
        if number + 1 < len(changes) and others.seen < others.at:
            # It had fewer points than that: the next one comes after it.
            make(number + 1)

    make(0)
    return answers


def _check(uri: str, start: dict[str, str], answers: list[Answer]) -> None:
    found = names(uri)
    shown = [f"{answer.change}: {answer.outcome}" for answer in answers]
    assert found in allowed(start, answers), f"{shown} of {start} led to {found}"


@hypothesis_settings(max_examples=60)
@given(
    start=st.sampled_from(STARTS),
    changes=st.lists(st.sampled_from(CHANGES), min_size=2, max_size=3),
    points=st.lists(st.integers(1, 20), min_size=2, max_size=2),
    is_stopped=st.booleans(),
)
def test_changes_of_names_are_linearizable_under_random_schedules(
    copies: Copies, start: tuple[str, ...], changes: list[Change], points: list[int], is_stopped: bool
) -> None:
    uri = copies(start)
    before = names(uri)
    _check(uri, before, _interleaved(uri, changes, points, is_stopped))


@pytest.mark.long
@pytest.mark.parametrize("first", CHANGES, ids=str)
def test_changes_of_names_are_linearizable_under_every_schedule_of_two(copies: Copies, first: Change) -> None:
    for start, other in product(STARTS, CHANGES):
        for point in range(1, POINTS_MAX):
            uri = copies(start)
            before = names(uri)
            steps = Steps(point)
            answers: list[Answer] = []
            steps.action = lambda uri=uri, other=other, answers=answers: answers.append(Party(uri).make(other))
            answers.append(Party(uri, steps).make(first))
            _check(uri, before, answers)
            shutil.rmtree(uri)
            if steps.seen < point:
                break
        else:
            pytest.fail(f"{first} has more than {POINTS_MAX} points")


def _stop() -> None:
    raise Stopped


def _stopped_renames(copies: Copies) -> Iterator[tuple[str, dict[str, str]]]:
    """A graph for every point at which a rename of x to y can stop."""
    for point in range(1, POINTS_MAX):
        uri = copies(("x",))
        before = names(uri)
        answer = Party(uri, Steps(point, _stop)).make(RENAME)
        if answer.outcome == DONE:
            assert point > 8, "the points were not counted"
            return
        assert answer.outcome == STOPPED
        yield uri, before
    pytest.fail("the rename never ended")


def test_a_stopped_rename_leaves_the_branch_under_one_name_and_a_retry_finishes_it(copies: Copies) -> None:
    for uri, before in _stopped_renames(copies):
        found = names(uri)
        assert list(found.values()) == [before["x"]]
        again = Party(uri).make(RENAME)
        # Without the old ref nothing says that this was the branch: it is renamed, and x is free.
        assert again.outcome == DONE or (again.outcome == MISSING and set(found) == {"y"})
        assert names(uri) == {"y": before["x"]}
        assert people(omnigraph.open(uri).snapshot("y")) == ["of-x"]


def test_a_stopped_rename_blocks_neither_name_for_others(copies: Copies) -> None:
    for uri, before in _stopped_renames(copies):
        taken, free = ("x", "y") if "x" in names(uri) else ("y", "x")
        made = Party(uri).make(Change("create", free))
        assert made.outcome == DONE
        assert names(uri) == {taken: before["x"], free: made.incarnation}
        assert Party(uri).make(Change("create", taken)).outcome == EXISTS


def test_a_late_rename_takes_no_branch_that_got_a_name_after_it_slept(copies: Copies) -> None:
    """The party sleeps at every point while others take the new name, or rename the branch and take the old one."""
    others = [
        [Change("create", "y")],
        [Change("rename", "x", "z"), Change("create", "x")],
        [Change("rename", "x", "y"), Change("create", "x")],
        [Change("delete", "x"), Change("create", "x")],
        [Change("create", "y"), Change("delete", "y"), Change("create", "y")],
    ]
    for changes in others:
        for point in range(1, POINTS_MAX):
            uri = copies(("x",))
            before = names(uri)
            answers: list[Answer] = []
            steps = Steps(
                point, lambda uri=uri, changes=changes, answers=answers: answers.extend(map(Party(uri).make, changes))
            )
            late = Party(uri, steps).make(RENAME)
            orders = [[*answers[:place], late, *answers[place:]] for place in range(len(answers) + 1)]
            assert names(uri) in [run_serially(before, order) for order in orders], (point, late, answers)
            if steps.seen < point:
                break


def test_a_write_during_a_rename_is_kept_under_the_new_name_or_refused(copies: Copies) -> None:
    for point in range(1, POINTS_MAX):
        uri = copies(("x",))
        written: list[str] = []

        def write(uri: str = uri, written: list[str] = written) -> None:
            graph = omnigraph.open(uri, durability="os")
            (branch,) = names(uri)
            insert(graph, "meanwhile", branch=branch)
            written.append("meanwhile")

        steps = Steps(point, write)
        assert Party(uri, steps).make(RENAME).outcome == DONE
        assert people(omnigraph.open(uri).snapshot("y")) == sorted([*written, "of-x"])
        if steps.seen < point:
            return
    pytest.fail("the rename never ended")
