"""Inserts that wait for one branch are staged together, with the effects of staging them one after the other."""

import random
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import InputError, OmnigraphError, StorageError
from omnigraph.storage.stage import staging
from omnigraph.write import attempt
from omnigraph.write.attempt import WaveMember, WriteJob
from omnigraph.write.waves import Order
from tests.promises.protocol.graphs import create, edge, insert, names, note, person, reopen, run
from tests.support.queues import together
from tests.support.sampling import sampled

Write = Callable[[omnigraph.Graph], Any]


@pytest.fixture
def waves(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of commits of every wave that was staged together."""
    sizes: list[int] = []
    stage = attempt.stage_together

    def watched(store: Any, capture: Any, orders: list[Order]) -> Any:
        sizes.append(len(orders))
        return stage(store, capture, orders)

    monkeypatch.setattr(attempt, "stage_together", watched)
    return sizes


def _changes(graph: omnigraph.Graph, commit_id: str) -> list[str]:
    return sorted(repr(astuple(change)) for table in graph.diff(f"{commit_id}~1", commit_id) for change in table)


def test_independent_inserts_are_staged_in_one_wave(graph: omnigraph.Graph, waves: list[int]) -> None:
    insert(graph, "zero")
    writes = [lambda n=n: graph.load([person(f"p{n}", age=n), note(f"n{n}")], "append") for n in range(5)]
    made = [future.result().commit for future in together(graph, writes)]
    assert waves == [5]
    cold = reopen(graph)
    for number, commit in enumerate(made):
        counts = cold.snapshot(at=commit.id).counts()
        assert (counts["node:Person"], counts["node:Note"]) == (number + 2, number + 1)
        assert [str(change.id) for table in cold.diff(f"{commit.id}~1", commit.id) for change in table] == [
            f"n{number}",
            f"p{number}",
        ]
        assert [(item.key, item.inserted) for item in commit.tables] == [("node:Note", 1), ("node:Person", 1)]
    assert graph.verify().is_clean


def test_a_wave_leaves_one_fragment_behind(graph: omnigraph.Graph) -> None:
    together(graph, [lambda n=n: insert(graph, f"p{n}") for n in range(12)])
    pin = graph.snapshot().state.tables["node:Person"]
    assert len(graph._context.store.open(pin.location, pin.lance_version).get_fragments()) == 1


@pytest.mark.parametrize(
    ("first", "second", "size"),
    [
        pytest.param(lambda g: insert(g, "a"), lambda g: insert(g, "b"), 2, id="other ids"),
        pytest.param(lambda g: insert(g, "a"), lambda g: g.load([person("a", age=2)], "merge"), 1, id="the same id"),
        pytest.param(
            lambda g: g.load([person("a", email="x@x")], "append"),
            lambda g: g.load([person("b", email="y@x")], "append"),
            2,
            id="other unique values",
        ),
        pytest.param(
            lambda g: g.load([edge("Wrote", "zero", "n", "e1")], "append"),
            lambda g: g.load([edge("Wrote", "zero", "n", "e2")], "append"),
            1,
            id="edges of one bounded source",
        ),
        pytest.param(
            lambda g: g.load([edge("Knows", "zero", "zero", "e1")], "append"),
            lambda g: g.load([edge("Knows", "zero", "zero", "e2")], "append"),
            2,
            id="edges of one free source",
        ),
        pytest.param(
            lambda g: g.load([person("zero", age=1)], "upsert"),
            lambda g: g.load([person("one", age=1)], "upsert"),
            2,
            id="upserts of others",
        ),
        # The second one changes nothing, but that depends on what the first one writes.
        pytest.param(
            lambda g: g.load([person("zero", age=1)], "upsert"),
            lambda g: g.load([person("zero", age=40), person("one")], "upsert"),
            1,
            id="an upsert without effect",
        ),
        pytest.param(
            lambda g: insert(g, "a"),
            lambda g: run(g, 'update Person set {age: 3} where name = "zero"'),
            1,
            id="an update",
        ),
    ],
)
def test_only_changes_that_do_not_depend_on_each_other_share_a_wave(
    graph: omnigraph.Graph, waves: list[int], first: Write, second: Write, size: int
) -> None:
    graph.load([person("zero", age=40), note("n")], "append")
    futures = together(graph, [lambda: first(graph), lambda: second(graph)])
    assert all(future.result().commit for future in futures)
    assert waves == ([size] if size > 1 else [])
    assert graph.verify().is_clean


def _random_write(draw: random.Random) -> Write:
    people, notes = [f"p{number}" for number in range(6)], [f"n{number}" for number in range(4)]
    records: list[dict[str, Any]] = []
    for _ in range(draw.randint(1, 2)):
        kind = draw.choice(["person", "person", "note", "knows", "wrote"])
        if kind == "person":
            email = draw.choice([None, "a@x", "b@x", f"{draw.random()}@x"])
            records.append(person(draw.choice(people), age=draw.randint(0, 3), email=email))
        elif kind == "note":
            records.append(note(draw.choice(notes), text=draw.choice("xy")))
        else:
            ends = (draw.choice(people), draw.choice(people if kind == "knows" else notes))
            records.append(edge("Knows" if kind == "knows" else "Wrote", *ends, f"e{draw.randint(0, 9)}"))
    mode = draw.choice(["append", "upsert", "merge", "upsert"])
    if draw.random() < 0.15:
        name = draw.choice(people)
        return lambda graph: graph.mutate("query q($n: String) { delete Person where name = $n }", {"n": name})
    return lambda graph: graph.load(records, mode)


@pytest.mark.parametrize("seed", sampled(range(12), 2))
def test_a_group_has_the_effects_of_its_commits_one_after_the_other(
    tmp_path: Path, waves: list[int], seed: int
) -> None:
    draw = random.Random(seed)
    grouped, serial = create(tmp_path / "grouped"), create(tmp_path / "serial")
    start = [person(f"p{number}") for number in range(3)] + [note("n0")]
    for graph in (grouped, serial):
        graph.load(start, "append")
    for _ in range(4):
        writes = [_random_write(draw) for _ in range(draw.randint(2, 7))]
        futures = together(grouped, [lambda write=write: write(grouped) for write in writes])
        made = {}
        for write, future in zip(writes, futures, strict=True):
            error = future.exception()
            assert error is None or isinstance(error, OmnigraphError)
            if error is None and future.result().commit is not None:
                made[future.result().commit.id] = write
        cold = reopen(grouped)
        for commit in reversed([commit for commit in cold.commits() if commit.id in made]):
            again = made[commit.id](serial).commit
            assert _changes(cold, commit.id) == _changes(serial, again.id)
    assert sorted(names(reopen(grouped))) == sorted(names(serial))
    assert reopen(grouped).verify().is_clean
    if seed == 0:
        assert waves


def test_one_write_that_cannot_be_staged_does_not_harm_the_others(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows = staging.write_rows

    def failing(store: Any, base: Any, location: str, rows: Any, **options: Any) -> Any:
        if "bad" in rows.column("id").to_pylist():
            raise StorageError("the disk refuses this one")
        return write_rows(store, base, location, rows, **options)

    monkeypatch.setattr(staging, "write_rows", failing)
    futures = together(graph, [lambda n=n: insert(graph, n) for n in ("a", "bad", "c")])
    assert futures[0].result().commit
    with pytest.raises(StorageError, match="refuses"):
        futures[1].result()
    assert futures[2].result().commit
    assert names(reopen(graph)) == ["a", "c"]


def test_a_write_that_expects_a_head_is_the_first_of_its_wave_or_refused(graph: omnigraph.Graph) -> None:
    head = insert(graph, "zero").commit.id
    futures = together(
        graph,
        [
            lambda: insert(graph, "a"),
            lambda: insert(graph, "b", if_commit=head),
            lambda: insert(graph, "c"),
        ],
    )
    assert futures[0].result().commit
    with pytest.raises(omnigraph.errors.PreconditionFailed):
        futures[1].result()
    assert names(graph) == ["a", "c", "zero"]


def test_a_change_that_was_refused_on_a_state_is_not_taken_from_an_earlier_one(tmp_path: Path) -> None:
    """A turn swaps a state for itself: the version moves, and the head that was refused stays."""
    graph = omnigraph.create(tmp_path / "g", "node Person { name: String @key }", durability="os")
    context = graph._context
    before = context.manifests.capture(context.manifests.fresh(graph.id))
    graph.mutate('query q() { insert Person { name: "ann" } }')
    after = context.manifests.capture(context.manifests.fresh(graph.id))
    asked: list[str] = []

    class Change:
        is_empty = False

    def prepare(capture: Any) -> Any:
        asked.append(capture.state.head)
        if capture is after:
            raise InputError("taken")
        return Change()

    member = WaveMember(context, WriteJob(graph.id, prepare, None, None, local=lambda change: None))  # type: ignore[arg-type]
    assert not member.joins(before, [])
    for _ in range(2):
        with pytest.raises(InputError):
            member.joins(after, [])
    assert asked == [before.state.head, after.state.head, after.state.head]
