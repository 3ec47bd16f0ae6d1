"""An analysis that is interrupted between two rounds goes on from what was kept, and gives the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from omnigraph.engine.analysis import run
from omnigraph.engine.analysis.result import AnalysisResult
from omnigraph.engine.graph import Graph, create
from omnigraph.errors import StorageError
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.local import LocalSteps
from omnigraph.exec.analytics.steps import Round, Steps
from omnigraph.exec.analytics.vectors import Array, Made
from tests.features.analytics.shapes import SCHEMA, Shape, knows, names, random_shape
from tests.support.faults.s3 import Bucket, Server
from tests.support.tuning import tuned

Ask = Callable[..., AnalysisResult]


class Stopped(Exception):
    """The program ends here."""


@dataclass
class Road:
    """How many steps may be made, and how many were."""

    steps_max: int = 1_000
    made: int = 0
    form: Form | None = None

    def step(self) -> None:
        if self.made == self.steps_max:
            raise Stopped
        self.made += 1


class CountedSteps:
    """Steps in this process that algorithms take for those of a cluster, so that all of them go round by round."""

    def __init__(self, road: Road, inner: Any) -> None:
        self.road = road
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def step(self, round_: Round, *vectors: Array, **numbers: Any) -> Made:
        self.road.step()
        found: Made = self.inner.step(round_, *vectors, **numbers)
        return found

    def turned(self) -> Steps:
        return CountedSteps(self.road, self.inner.turned())


def chains() -> Shape:
    """Long ways, rings of several sizes, and a crowd."""
    persons = names(60)
    pairs = [(n, n + 1) for n in range(20)] + [(20 + n, 20 + (n + 1) % 9) for n in range(9)] + [(33, 5), (5, 33)]
    shape, crowd = knows(persons, pairs), random_shape(7, 30, 60)
    shape.persons += [f"c{name}" for name in crowd.persons]
    shape.edges += [(kind, f"c{source}", f"c{target}", weight) for kind, source, target, weight in crowd.edges]
    return shape


ALGORITHMS: dict[str, tuple[Form | None, Ask]] = {
    "pagerank": (None, lambda a, **how: a.pagerank("Knows", weight="w", max_iterations=12, **how)),
    "components": (Form.BOTH, lambda a, **how: a.components("Knows", **how)),
    "strong components": (None, lambda a, **how: a.components("Knows", strong=True, **how)),
    "label_propagation": (None, lambda a, **how: a.label_propagation("Knows", max_iterations=8, **how)),
    "hops": (None, lambda a, **how: a.shortest_paths(names(1), "Knows", **how)),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return chains().graph(tmp_path_factory.mktemp("chains") / "g")


def walk(monkeypatch: pytest.MonkeyPatch, form: Form | None = None, steps_max: int = 1_000) -> Road:
    road = Road(steps_max, form=form)

    def steps(view: Any, space: Any, chosen: Any, form_: Form) -> Any:
        return CountedSteps(road, LocalSteps(view, space, chosen, road.form or form_))

    monkeypatch.setattr(run, "LocalSteps", steps)
    return road


def rows_and_facts(result: AnalysisResult) -> tuple[Any, Any]:
    return result.to_arrow(), dict(result.facts)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_it_goes_on_wherever_it_was_interrupted(
    graph: Graph, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = tuned(graph, checkpoint_rounds=2)
    form, ask = ALGORITHMS[name]
    expected = rows_and_facts(ask(graph.analyze))
    whole = walk(monkeypatch, form)
    assert rows_and_facts(ask(graph.analyze)) == expected
    assert whole.made > 2
    for steps_max in range(whole.made):
        walk(monkeypatch, form, steps_max)
        with pytest.raises(Stopped):
            ask(graph.analyze, checkpoint=tmp_path)
        kept = list(tmp_path.iterdir())
        assert all(graph.snapshot().commit_id in path.name for path in kept)
        again = walk(monkeypatch, form)
        assert rows_and_facts(ask(graph.analyze, checkpoint=tmp_path)) == expected
        assert (again.made < whole.made) is bool(kept)
        assert list(tmp_path.iterdir()) == []
    assert kept


def test_rounds_are_kept_every_few_and_only_for_the_same_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = chains().graph(tmp_path / "g")
    place = tmp_path / "deep" / "rounds"
    walk(monkeypatch, steps_max=13)
    with pytest.raises(Stopped):
        graph.analyze.pagerank("Knows", checkpoint=place)
    [kept] = place.iterdir()
    content = kept.read_bytes()
    whole = walk(monkeypatch)
    expected = graph.analyze.pagerank("Knows")
    other = walk(monkeypatch)
    graph.analyze.pagerank("Knows", damping=0.5, checkpoint=place)
    graph.analyze.pagerank("Knows", directed=False, checkpoint=place)
    graph.load([{"type": "Person", "data": {"name": "new"}}], "append")
    graph.analyze.pagerank("Knows", damping=0.5, max_iterations=2, checkpoint=place)
    assert other.made > 13
    assert kept.read_bytes() == content
    again = walk(monkeypatch)
    assert rows_and_facts(graph.analyze.pagerank("Knows", at=expected.commit_id, checkpoint=place)) == rows_and_facts(
        expected
    )
    # Thirteen rounds were made, and the last time that they were kept was after the tenth.
    assert again.made == whole.made - 10
    assert list(place.iterdir()) == []


def test_what_is_no_checkpoint_is_said_to_be_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, graph: Graph
) -> None:
    walk(monkeypatch, steps_max=7)
    with pytest.raises(Stopped):
        graph.analyze.pagerank("Knows", checkpoint=tmp_path)
    walk(monkeypatch)
    [kept] = tmp_path.iterdir()
    content = kept.read_bytes()
    for damaged in (b"", b"something else", content[: len(content) // 2], content[:-30]):
        kept.write_bytes(damaged)
        with pytest.raises(StorageError, match="cannot be used") as raised:
            graph.analyze.pagerank("Knows", checkpoint=tmp_path)
        assert kept.name in raised.value.message
        assert raised.value.hint == "delete it to restart the analysis"
    kept.write_bytes(content)
    assert rows_and_facts(graph.analyze.pagerank("Knows", checkpoint=tmp_path)) == rows_and_facts(
        graph.analyze.pagerank("Knows")
    )


@pytest.mark.s3
def test_rounds_are_kept_in_a_bucket(s3_server: Server, s3_bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = create(s3_bucket.uri("g"), SCHEMA, storage_options=s3_server.storage_options())
    graph.load(chains().records(), "append")
    walk(monkeypatch, steps_max=7)
    with pytest.raises(Stopped):
        graph.analyze.pagerank("Knows", checkpoint=s3_bucket.uri("rounds"))
    assert len(s3_bucket.keys("rounds/")) == 1
    whole = walk(monkeypatch)
    expected = graph.analyze.pagerank("Knows")
    again = walk(monkeypatch)
    assert rows_and_facts(graph.analyze.pagerank("Knows", checkpoint=s3_bucket.uri("rounds"))) == rows_and_facts(
        expected
    )
    assert again.made == whole.made - 5
    assert s3_bucket.keys("rounds/") == []
