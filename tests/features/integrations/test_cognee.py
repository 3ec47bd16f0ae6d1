"""cognee: its own contracts of graph adapters, and the tests of its other adapters, run with ours.

cognee requires another version of Lance than this package, so it is not in the lock. ``docs/user/frameworks.md`` has
the way to install both; the tests that its wheel ships run where it is installed.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

import omnigraph
from tests.features.server.live import BASE, running, serving_of

# cognee makes directories, and takes over the logging of the process, when it is imported.
os.environ.setdefault("COGNEE_LOGS_DIR", tempfile.mkdtemp(prefix="cognee-"))
os.environ.setdefault("TELEMETRY_DISABLED", "1")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("cognee", reason="needs cognee, which requires an older Lance; see docs/user/frameworks.md")
    from cognee.infrastructure.databases.graph.get_graph_engine import create_graph_engine, graph_engine_cache
    from cognee.infrastructure.databases.provenance import EdgeIdentity, make_source_ref_key

    from omnigraph.integrations.cognee import OmnigraphAdapter, OmnigraphDatasets, register

pytestmark = pytest.mark.filterwarnings("ignore")

INTERNAL = "replaces a private method of the adapter it is written for"
NOT_CYPHER = "queries are in .gq; `supports_cypher_queries` is false"
OTHER_ENGINE = "about the engine, processes or locks of that adapter"
OUTSIDE = "not in the interface of graph adapters"

SUITES: dict[str, dict[str, str]] = {
    "integration.infrastructure.graph.test_graph_provenance_adapter_contract": {},
    "integration.infrastructure.graph.test_graph_provenance_unified_contract": {},
    "e2e.postgres.test_postgres_adapter": {
        "test_node_write_rolls_back_when_provenance_fails": INTERNAL,
        "test_edge_write_rolls_back_when_provenance_fails": INTERNAL,
        "test_query_raises_not_implemented": NOT_CYPHER,
    },
    "e2e.turso.test_turso_adapter": {
        "test_runs_on_the_turso_rewrite_engine": OTHER_ENGINE,
        "test_factory_returns_turso_adapter_and_rejects_remote": OTHER_ENGINE,
        "test_query_raises_not_implemented": NOT_CYPHER,
        "test_add_nodes_and_edges_accept_provenance_kwargs": "its refs are none, and Turso ignores them",
    },
    "integration.infrastructure.graph.test_kuzu_adapter": {
        "test_predecessors_and_successors": OUTSIDE,
        "test_get_disconnected_nodes": OUTSIDE,
        "test_raw_query": NOT_CYPHER,
        "test_delete_graph_waits_for_in_flight_query": OTHER_ENGINE,
        "test_query_after_close_raises_clean_error": OTHER_ENGINE,
        "test_query_does_not_block_event_loop_during_slow_redis_acquire": OTHER_ENGINE,
        "test_query_racing_with_close_does_not_leak_executor_error": OTHER_ENGINE,
        "test_close_subprocess": OTHER_ENGINE,
        "test_subprocess_calls_after_close_raise": OTHER_ENGINE,
        "test_close_does_not_block_event_loop_in_subprocess_mode": OTHER_ENGINE,
        "test_delete_graph_subprocess_recreates_schema": OTHER_ENGINE,
    },
    "integration.modules.user_preferences.test_preference_store_default_adapter": {},
    "integration.tasks.test_graph_provenance_delete_default_stack": {},
}
"""The modules of tests in the wheel of cognee, with the tests that are left out and why."""

ADAPTERS = ("LadybugAdapter", "KuzuAdapter", "PostgresDemoAdapter", "TursoAdapter")


def _adapter(*positional: Any, **named: Any) -> OmnigraphAdapter:
    """Ours, constructed as the adapters that the suites are written for."""
    [address] = [*positional, *named.values()]
    adapter = OmnigraphAdapter(str(address), durability="os")
    adapter.db_uri = str(address)
    return adapter


def _cases() -> Iterator[Any]:
    for suite, left_out in SUITES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = importlib.import_module(f"cognee.tests.{suite}")
        for name, function in vars(module).items():
            if not name.startswith("test_"):
                continue
            marks = [pytest.mark.skip(reason=left_out[name])] if name in left_out else []
            for number, given in enumerate(_parameters(function)):
                id_ = f"{suite.rpartition('.')[2]}-{name}-{number}"
                yield pytest.param(module, function, given, id=id_, marks=marks)


def _parameters(function: Callable[..., Any]) -> list[dict[str, Any]]:
    """What a test is parametrized with: one name at most."""
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == "parametrize":
            return [{mark.args[0]: value} for value in mark.args[1]]
    return [{}]


@pytest.mark.parametrize(("module", "function", "given"), list(_cases()))
def test_of_cognee(
    module: Any, function: Callable[..., Any], given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ADAPTERS:
        if hasattr(module, name):
            monkeypatch.setattr(module, name, _adapter)
    makers: dict[str, Callable[[], Any]] = {
        "tmp_path": lambda: tmp_path,
        "monkeypatch": lambda: monkeypatch,
        "graph_provenance_unified_engine": lambda: _unified(module, tmp_path),
    }
    values = {
        name: makers.get(name, lambda: _adapter(tmp_path / "own.omni"))()
        for name in inspect.signature(function).parameters
        if name not in given
    }
    asyncio.run(function(**given, **values))


def _unified(module: Any, tmp_path: Path) -> SimpleNamespace:
    graph, vector = _adapter(tmp_path / "own.omni"), module.RecordingVectorEngine()
    return SimpleNamespace(graph=graph, vector=vector, engine=module._new_engine(graph, vector))


def test_every_test_that_is_left_out_exists() -> None:
    for suite, left_out in SUITES.items():
        module = importlib.import_module(f"cognee.tests.{suite}")
        assert not [name for name in left_out if not hasattr(module, name)], suite


NODES = [("a", {"name": "Ada", "type": "Person"}), ("b", {"name": "Bob", "type": "Person", "age": 3})]
REF = make_source_ref_key(uuid4(), uuid4())


async def test_a_write_with_its_owner_is_one_commit(tmp_path: Path) -> None:
    adapter = _adapter(tmp_path / "g.omni")
    before = len(list(adapter.graph.commits()))
    await adapter.add_nodes(NODES, source_ref_key=REF, pipeline_run_id=str(uuid4()))
    await adapter.add_edges([("a", "b", "knows", {})], source_ref_key=REF)
    assert len(list(adapter.graph.commits())) == before + 2
    assert sorted(await adapter.find_nodes_by_source_ref(REF)) == ["a", "b"]
    with pytest.raises(ValueError, match="source ref"):
        await adapter.add_nodes([("c", {"name": "C"})], source_ref_key="no ref")
    assert not await adapter.has_node("c")


async def test_a_deleted_target_takes_the_owners_of_its_relations_along(tmp_path: Path) -> None:
    adapter = _adapter(tmp_path / "g.omni")
    await adapter.add_nodes(NODES)
    await adapter.add_edges([("a", "b", "knows", {})], source_ref_key=REF)
    await adapter.delete_node("b")
    assert await adapter.find_edges_by_source_ref(REF) == []
    assert not adapter.tables.view().rows("match { $n: CogneeNode $n $o: cogneeRelationOwner $s } return { $o.label }")


async def test_feedback_is_kept_with_nodes_and_edges(tmp_path: Path) -> None:
    adapter = _adapter(tmp_path / "g.omni")
    await adapter.add_nodes(NODES)
    await adapter.add_edges([("a", "b", "knows", {"edge_object_id": "e1", "since": 2020})], source_ref_key=REF)
    assert await adapter.get_node_feedback_weights(["a", "z"]) == {"a": 0.5}
    assert await adapter.set_node_feedback_weights({"a": 0.9, "z": 1}) == {"a": True, "z": False}
    assert await adapter.get_node_feedback_weights(["a", "b"]) == {"a": 0.9, "b": 0.5}
    assert await adapter.set_edge_feedback_weights({"e1": 0.2, "e2": 1}) == {"e1": True, "e2": False}
    assert await adapter.get_edge_feedback_weights(["e1"]) == {"e1": 0.2}
    [(_, edge, _)] = await adapter.get_connections("a")
    assert edge["since"] == 2020
    assert await adapter.find_edges_by_source_ref(REF) == [EdgeIdentity("a", "b", "knows")]
    assert await adapter.set_node_truth_state({"b": {"truth_alignment": [0.1], "truth_epoch": 4}}) == {"b": True}
    assert await adapter.get_node_truth_state(["b"]) == {"b": {"truth_alignment": [0.1], "truth_epoch": 4}}
    assert await adapter.update_node("b", {"age": 4})
    assert await adapter.get_node("b") == {
        "id": "b",
        "name": "Bob",
        "type": "Person",
        "age": 4,
        "truth_alignment": [0.1],
        "truth_epoch": 4,
    }
    await adapter.update_chunk_index({"a": 7, "z": 1})
    assert (await adapter.get_node("a") or {})["chunk_index"] == 7


async def test_what_cognee_wrote_can_be_reviewed_and_undone(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g.omni", "node Other {\n  name: String @key\n}\n", durability="os")
    main = OmnigraphAdapter(graph=graph)
    await main.add_nodes(NODES)
    graph.create_branch("pipeline")
    work = OmnigraphAdapter(graph=graph, branch="pipeline")
    await work.add_edges([("a", "b", "knows", {})])
    await work.delete_node("a")
    assert await main.has_node("a")
    graph.merge("pipeline")
    assert not await main.has_node("a")
    graph.revert(next(graph.commits(limit=1)).id)
    assert await main.has_node("a")
    assert graph.verify().is_clean


async def test_the_provider_is_found_by_its_name(tmp_path: Path) -> None:
    register()
    options = {
        "graph_database_provider": "omnigraph",
        "graph_file_path": "",
        "graph_database_url": str(tmp_path / "g.omni"),
    }
    engine = create_graph_engine(**options)
    try:
        await engine.add_nodes(NODES)
        assert await engine.get_graph_counts() == (2, 0)
        assert (await engine.get_timestamps_in_range(None, None)) == []
        rows = await engine.query("query q() { match { $n: CogneeNode } return { $n.name as name } }", {})
        assert sorted(row["name"] for row in rows) == ["Ada", "Bob"]
    finally:
        graph_engine_cache.evict(**options)


async def test_a_dataset_has_a_graph_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEM_ROOT_DIRECTORY", str(tmp_path))
    from cognee.base_config import get_base_config

    get_base_config.cache_clear()
    try:
        made = await OmnigraphDatasets.create_dataset(uuid4(), None)
        stored = SimpleNamespace(**made)
        assert (await OmnigraphDatasets.resolve_dataset_connection_info(stored)) is stored
        adapter = OmnigraphAdapter(stored.graph_database_url)
        await adapter.add_nodes(NODES)
        assert Path(stored.graph_database_url).is_relative_to(tmp_path)
        await OmnigraphDatasets.delete_dataset(stored)
        assert not Path(stored.graph_database_url).exists()
    finally:
        get_base_config.cache_clear()


def test_a_graph_behind_a_server_is_a_store_too(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "kb.omni", "node Other {\n  name: String @key\n}\n", durability="os")
    with running(serving_of(graph, tokens={"ann": "secret"})) as live:
        adapter = OmnigraphAdapter(f"{live.address}{BASE}", graph_database_key="secret")

        async def work() -> None:
            await adapter.add_nodes(NODES, source_ref_key=REF)
            await adapter.add_edges([("a", "b", "knows", {"edge_object_id": "e"}), ("a", "missing", "knows", {})])
            assert await adapter.set_edge_feedback_weights({"e": 0.1}) == {"e": True}
            nodes, edges = await adapter.get_neighborhood(["a"], 1)
            assert [id_ for id_, _ in nodes] == ["a", "b"]
            assert [edge[:3] for edge in edges] == [("a", "b", "knows")]
            await adapter.delete_graph()
            assert await adapter.is_empty()
            await adapter.close()

        asyncio.run(work())
    assert {commit.actor for commit in graph.commits(limit=3)} == {"ann"}
