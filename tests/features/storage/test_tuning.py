"""A tuning belongs to the handle it was given to, and goes wherever that handle goes."""

import pickle
from pathlib import Path

import omnigraph
from omnigraph.storage.tables.store import Store

SCHEMA = "node Person { name: String @key }"
TUNING = omnigraph.Tuning(index_rows_min=7)


def test_a_pickled_store_or_graph_keeps_its_tuning(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=TUNING)
    assert pickle.loads(pickle.dumps(graph)).tuning == TUNING
    assert pickle.loads(pickle.dumps(Store(tmp_path / "g", tuning=TUNING))).tuning == TUNING
    assert graph._store.apart().tuning == TUNING


def test_two_handles_of_one_graph_may_differ(tmp_path: Path) -> None:
    usual = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    usual.load([{"type": "Person", "data": {"name": f"p{number}"}} for number in range(20)])
    eager = omnigraph.open(tmp_path / "g", durability="os", tuning=TUNING)
    assert not usual.optimize().tables[0].indexes_built
    assert eager.optimize().tables[0].indexes_built
    assert usual.tuning == omnigraph.Tuning()
