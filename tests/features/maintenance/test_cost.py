"""Cost after optimize, in requests and bytes: a second call is free, and queries cost little more than fresh."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.storage.tables.io_meter import IoMeter
from tests.features.maintenance.graphs import fragments, indexes, load_people, uncovered
from tests.support.tuning import EAGER

SCHEMA = """
node Doc {
  slug: String @key
  group: I64 @index
  text: String @index
  v: Vector(8)? @index
}
edge Cites: Doc -> Doc
"""
ROWS = 6_000
QUERIES = {
    "key": 'query q() { match { $d: Doc {slug: "d04321"} } return { $d.group } }',
    "value": "query q() { match { $d: Doc $d.group = 77 } return { $d.slug } order { $d.slug } }",
    "hop": 'query q() { match { $d: Doc {slug: "d04321"} $d cites $e } return { $e.slug } }',
    "words": 'query q() { match { $d: Doc search($d.text, "word321") } return { $d.slug } order { $d.slug } }',
    "ranked": 'query q() { match { $d: Doc } return { $d.slug } order { bm25($d.text, "word321 common") } limit 5 }',
    "nearest": "query q() { match { $d: Doc } return { $d.slug } "
    "order { nearest($d.v, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]) } limit 5 }",
}


def docs(start: int, stop: int, group: int = 0) -> pa.Table:
    numbers = np.arange(start, stop)
    vectors = np.stack([np.random.default_rng(int(number)).standard_normal(8) for number in numbers])
    return pa.table(
        {
            "slug": [f"d{number:05}" for number in numbers],
            "group": numbers % 300 + group,
            "text": [f"word{number % 1_000} common text of doc{number}" for number in numbers],
            "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel().astype(np.float32)), 8),
        }
    )


def cites(start: int, stop: int) -> pa.Table:
    slugs = [f"d{number:05}" for number in range(start, stop)]
    return pa.table({"id": [f"c{slug}" for slug in slugs], "src": slugs, "dst": slugs[::-1]})


@pytest.fixture
def fresh(tmp_path: Path) -> omnigraph.Graph:
    """Loaded at once."""
    graph = omnigraph.create(tmp_path / "fresh", SCHEMA, durability="os", tuning=EAGER)
    graph.load(docs(0, ROWS), "append", type_name="Doc")
    graph.load(pa.concat_tables(cites(at, at + 500) for at in range(0, ROWS, 500)), "append", type_name="Cites")
    graph.optimize()
    return graph


def used(path: Path, *, maintained: bool) -> omnigraph.Graph:
    """The same content after loads, changes and deletions, optimized in the end and perhaps all the time."""
    graph = omnigraph.create(path, SCHEMA, durability="os", tuning=EAGER)
    for at in range(0, ROWS, 500):
        graph.load(docs(at, at + 500, group=at % 7), "append", type_name="Doc")
        graph.load(cites(at, at + 500), "append", type_name="Cites")
        graph.load(docs(at, at + 500), "merge", type_name="Doc")
        if maintained:
            graph.optimize()
    graph.load(docs(ROWS, ROWS + 400), "append", type_name="Doc")
    graph.mutate(f'query q() {{ delete Doc where slug >= "d{ROWS:05}" }}')
    graph.optimize()
    return graph


def work(graph: omnigraph.Graph) -> tuple[dict[str, Any], dict[str, tuple[int, int]]]:
    """What the queries say, and the requests and bytes that each takes in a process that knows nothing."""
    said, paid = {}, {}
    for name, text in QUERIES.items():
        stranger = omnigraph.open(graph.uri, tuning=EAGER)
        for pin in stranger.snapshot().state.tables.values():
            stranger._store.open(pin.location, pin.lance_version)
        meter = IoMeter(stranger._store)
        said[name] = stranger.query(text).to_pylist()
        paid[name] = meter.read()
    return said, paid


def test_queries_after_optimize_do_the_work_of_a_fresh_load(fresh: omnigraph.Graph, tmp_path: Path) -> None:
    graph = used(tmp_path / "used", maintained=False)
    said, paid = work(graph)
    expected, price = work(fresh)
    assert said == expected
    for key in ("node:Doc", "edge:Cites"):
        assert uncovered(graph, key) == {}
        assert fragments(graph, key) == fragments(fresh, key) == 1
        assert {len(item.segments) for item in indexes(graph, key).values()} == {1}
    # Columns are read at the same time, and how Lance puts their reads together depends on the moment.
    for name, (requests, size) in paid.items():
        assert requests <= 1.25 * price[name][0] + 1, name
        assert size <= 1.5 * price[name][1], name


def test_a_graph_that_is_optimized_again_and_again_costs_little_more(fresh: omnigraph.Graph, tmp_path: Path) -> None:
    graph = used(tmp_path / "used", maintained=True)
    said, paid = work(graph)
    expected, price = work(fresh)
    assert said == expected
    assert uncovered(graph, "node:Doc") == uncovered(graph, "edge:Cites") == {}
    for name, (requests, _) in paid.items():
        assert requests <= 3 * price[name][0], name


def test_a_second_call_reads_manifests_only(fresh: omnigraph.Graph) -> None:
    stranger = omnigraph.open(fresh.uri, tuning=EAGER)
    for pin in stranger.snapshot().state.tables.values():
        stranger._store.open(pin.location, pin.lance_version)
    meter = IoMeter(stranger._store)
    assert stranger.optimize().commits == ()
    assert meter.read() == (0, 0)


def test_verify_lists_the_index_files_of_a_table_once(graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many commits have indexes."""
    for start in (300, 340, 380):
        load_people(graph, start, start + 40)
        graph.optimize()
    stranger = omnigraph.open(graph.uri, tuning=EAGER)
    listed: list[str] = []
    objects = stranger._store.objects
    original = objects.list

    def counted(prefix: str) -> Iterator[tuple[str, int]]:
        listed.append(prefix)
        return original(prefix)

    monkeypatch.setattr(objects, "list", counted)
    report = stranger.verify()
    assert report.is_clean
    pins = stranger.snapshot().state.tables
    tables = [pins[key].location for key in ("node:Person", "edge:Knows")]
    assert sorted(prefix for prefix in listed if "_indices" in prefix) == sorted(f"{at}/_indices/" for at in tables)
    for table in tables:
        Path(graph.uri.removeprefix("file-object-store://"), next(_index_files(graph, table))).unlink()
    assert len(omnigraph.open(graph.uri, tuning=EAGER).verify().problems) == 2


def _index_files(graph: omnigraph.Graph, table: str) -> Iterator[str]:
    """Files of the table's index that the head needs."""
    key = next(pin.key for pin in graph.snapshot().state.tables.values() if pin.location == table)
    segments = {part.uuid for item in indexes(graph, key).values() for part in item.segments}
    for path, _ in graph._store.objects.list(f"{table}/_indices/"):
        if path.split("/")[-2] in segments:
            yield path
