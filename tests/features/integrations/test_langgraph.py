"""LangGraph: the conformance suite of checkpointers, a store that agrees with the one in memory, and real graphs."""

import asyncio
import operator
import random
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph.graph", reason="needs the extra langgraph, and langgraph")
pytest.importorskip("langgraph.checkpoint.conformance", reason="needs langgraph-checkpoint-conformance")

from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

import omnigraph
from omnigraph.errors import UsageError
from omnigraph.integrations.batches import Batches
from omnigraph.integrations.langgraph import OmnigraphSaver, OmnigraphStore
from tests.features.server.live import running, serving_of


@pytest.mark.parametrize("capability", [item.value for item in Capability])
async def test_the_checkpointer_passes_the_conformance_suite(capability: str, tmp_path: Path) -> None:
    @checkpointer_test(name="OmnigraphSaver")
    async def saver() -> AsyncIterator[OmnigraphSaver]:
        yield OmnigraphSaver(tmp_path / "threads.omni", durability="os")

    report = (await validate(saver, capabilities={capability})).results[capability]
    assert report.failures == []
    assert (report.detected, report.passed, report.tests_skipped) == (True, True, 0)
    assert report.tests_passed >= 5


class State(TypedDict):
    seen: Annotated[list[str], operator.add]


def steps(saver: Any, store: Any = None) -> Any:
    """A graph of two steps; the second one asks a person."""

    def first(state: State) -> dict[str, Any]:
        return {"seen": ["first"]}

    def second(state: State) -> dict[str, Any]:
        return {"seen": [f"second {interrupt('go on?')}"]}

    builder = StateGraph(State)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", END)
    return builder.compile(checkpointer=saver, store=store)


@pytest.fixture
def saver(tmp_path: Path) -> OmnigraphSaver:
    return OmnigraphSaver(tmp_path / "threads.omni", durability="os")


def test_a_thread_is_resumed_by_another_process_and_travels_in_time(saver: OmnigraphSaver) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    steps(saver).invoke({"seen": []}, config)
    other = steps(OmnigraphSaver(omnigraph.open(saver.graph.uri)))
    assert other.get_state(config).next == ("second",)
    assert other.invoke(Command(resume="yes"), config)["seen"] == ["first", "second yes"]
    history = list(other.get_state_history(config))
    earlier = next(state for state in history if state.next == ("first",))
    assert other.get_state(earlier.config).values == {"seen": []}
    fork = other.update_state(earlier.config, {"seen": ["forked"]})
    assert other.get_state(fork).values == {"seen": ["forked"]}


async def test_a_thread_runs_asynchronously_and_over_http(saver: OmnigraphSaver) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    with running(serving_of(saver.graph)) as live, omnigraph.open(f"{live.address}/graphs/kb", token=None) as remote:
        there = steps(OmnigraphSaver(remote))
        await there.ainvoke({"seen": []}, config)
        assert (await there.ainvoke(Command(resume="yes"), config))["seen"] == ["first", "second yes"]
    states = [state async for state in steps(saver).aget_state_history(config)]
    assert states[0].values["seen"] == ["first", "second yes"]


def test_threads_that_step_at_the_same_time_share_commits(saver: OmnigraphSaver) -> None:
    release, entered = threading.Event(), threading.Event()
    load = saver.graph.load

    def slow(*args: Any, **kwargs: Any) -> Any:
        entered.set()
        release.wait(30)
        return load(*args, **kwargs)

    batches = Batches(saver.graph, "main", "test")
    graph: Any = saver.graph
    graph.load = slow

    def put(number: int) -> None:
        data = {"namespace": "", "channel": "c", "version": "1", "content": "null:", "thread": f"t{number}"}
        batches.write({number: {"type": "LangGraphValue", "data": data}})

    threads = [threading.Thread(target=put, args=(number,)) for number in range(20)]
    threads[0].start()
    entered.wait(30)
    for thread in threads[1:]:
        thread.start()
    while len(batches._waiting) < 19:
        threading.Event().wait(0.001)
    release.set()
    for thread in threads:
        thread.join()
    assert batches.commits == 2
    assert saver.graph.counts()["LangGraphValue"] == 20


def test_a_wrong_record_fails_its_caller_and_no_other(saver: OmnigraphSaver) -> None:
    batches = Batches(saver.graph, "main", "test")
    good = {"namespace": "", "channel": "c", "version": "1", "content": "null:", "thread": "t"}
    waiting: Any = batches
    results: list[BaseException | None] = []

    def write(data: dict[str, Any]) -> None:
        try:
            batches.write({data["version"]: {"type": "LangGraphValue", "data": data}})
            results.append(None)
        except Exception as error:
            results.append(error)

    waiting._is_writing = True
    threads = [threading.Thread(target=write, args=({**good, "version": version},)) for version in ("1", "2")]
    threads.append(threading.Thread(target=write, args=({**good, "version": "3", "channel": 7},)))
    for thread in threads:
        thread.start()
    while len(batches._waiting) < 3:
        threading.Event().wait(0.001)
    batches._lead()
    for thread in threads:
        thread.join()
    assert sorted(type(result).__name__ for result in results) == ["NoneType", "NoneType", "ViolationError"]
    assert saver.graph.counts()["LangGraphValue"] == 2


def test_pruning_keeps_what_channels_of_differences_need(saver: OmnigraphSaver) -> None:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for number in range(5):
        checkpoint = empty_checkpoint()
        version = saver.get_next_version(None if number == 0 else f"{number}.0", None)
        checkpoint["channel_versions"] = {"log": version}
        # The value of the channel is whole at the second checkpoint only.
        checkpoint["channel_values"] = {"log": "whole"} if number == 1 else {}
        metadata: Any = {"step": number, "counters_since_delta_snapshot": {"log": [number, number]}}
        config = saver.put({"configurable": {**config["configurable"]}}, checkpoint, metadata, {"log": version})
    saver.prune(["t"])
    kept: list[CheckpointTuple] = list(saver.list({"configurable": {"thread_id": "t"}}))
    assert [item.metadata["step"] for item in kept] == [4, 3, 2, 1]
    assert saver.graph.counts()["LangGraphValue"] == 4
    with pytest.raises(UsageError, match="unknown strategy: 'some'"):
        saver.prune(["t"], strategy="some")


def embed(texts: list[str]) -> list[list[float]]:
    return [[random.Random(text + str(place)).gauss(0, 1) for place in range(6)] for text in texts]


INDEX: Any = {"dims": 6, "embed": embed, "fields": ["text", "parts[*].text"]}


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[OmnigraphStore, InMemoryStore]]:
    return OmnigraphStore(tmp_path / "memory.omni", index=INDEX, durability="os"), InMemoryStore(index=INDEX)


def shown(result: Any) -> Any:
    """A result without times."""
    if isinstance(result, list):
        return [shown(item) for item in result]
    if hasattr(result, "namespace"):
        score = getattr(result, "score", None)
        return result.namespace, result.key, result.value, None if score is None else round(score, 4)
    return result


OPERATIONS: dict[str, list[Any]] = {
    "get": [GetOp(("users", "ann"), "food"), GetOp(("users",), "none"), GetOp(("docs",), "0")],
    "search by meaning": [SearchOp(("docs",), query="text 3", limit=4)],
    "search below a namespace": [SearchOp(("users",), query="likes tea", limit=20)],
    "search everywhere": [SearchOp((), query="likes tea", limit=3)],
    "a name that begins alike is another namespace": [SearchOp(("user",), query="likes tea")],
    "filter": [SearchOp(("docs",), query="text 1", filter={"even": True}, limit=20)],
    "operators": [SearchOp(("docs",), query="x", filter={"n": {"$gte": 3, "$lt": 5}})],
    "nested filter": [SearchOp(("docs",), query="x", filter={"of": {"kind": "doc"}, "n": {"$ne": 0}}, limit=20)],
    "offset": [SearchOp(("docs",), query="text 3", limit=2, offset=3)],
    "namespaces": [ListNamespacesOp(limit=20), ListNamespacesOp(max_depth=1)],
    "matching namespaces": [
        ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("users", "*")),)),
        ListNamespacesOp(match_conditions=(MatchCondition("suffix", ("ann",)),)),
    ],
    "a page of namespaces": [ListNamespacesOp(limit=1, offset=1)],
}


@pytest.fixture
def filled(stores: tuple[OmnigraphStore, InMemoryStore]) -> tuple[OmnigraphStore, InMemoryStore]:
    puts: list[Any] = [
        PutOp(
            ("docs",),
            str(number),
            {"text": f"text {number}", "n": number, "even": number % 2 == 0, "of": {"kind": "doc"}},
        )
        for number in range(7)
    ]
    puts.append(PutOp(("users", "ann"), "food", {"parts": [{"text": "likes tea"}, {"text": "likes cake"}]}))
    puts.append(PutOp(("users", "bob"), "food", {"text": "likes soup"}))
    puts.append(PutOp(("users", "bob"), "gone", {"text": "soon"}))
    for store in stores:
        store.batch(puts)
        store.batch([PutOp(("users", "bob"), "gone", None)])
    return stores


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_store_answers_as_the_one_in_memory(name: str, filled: tuple[OmnigraphStore, InMemoryStore]) -> None:
    ours, theirs = (shown(store.batch(OPERATIONS[name])) for store in filled)
    assert ours == theirs


async def test_the_store_answers_asynchronously(filled: tuple[OmnigraphStore, InMemoryStore]) -> None:
    ours, theirs = [shown(await store.abatch(OPERATIONS["search by meaning"])) for store in filled]
    assert ours == theirs
    await asyncio.gather(*(filled[0].aput(("many",), str(number), {"text": str(number)}) for number in range(8)))
    assert len(await filled[0].asearch(("many",), limit=20)) == 8


def test_the_store_lists_the_newest_items_first_and_keeps_the_time_of_their_creation(
    stores: tuple[OmnigraphStore, InMemoryStore],
) -> None:
    store, _ = stores
    store.put(("a",), "1", {"text": "x"})
    store.put(("a",), "2", {"text": "y"}, index=False)
    first = store.get(("a",), "1")
    store.put(("a",), "1", {"text": "z", "parts": [{"text": "more"}]})
    again = store.get(("a",), "1")
    assert first is not None
    assert again is not None
    assert (again.created_at, again.updated_at > first.updated_at) == (first.created_at, True)
    assert [item.key for item in store.search(("a",))] == ["1", "2"]
    assert [item.score is None for item in store.search(("a",), query="z")] == [False, True]
    # The vectors of texts that an item does not have any more are gone.
    assert store.graph.counts()["LangGraphVector"] == 2
    store.delete(("a",), "1")
    assert (store.get(("a",), "1"), store.graph.counts()["LangGraphVector"]) == (None, 0)


def test_all_puts_of_a_batch_are_one_commit(stores: tuple[OmnigraphStore, InMemoryStore]) -> None:
    store, _ = stores
    before = len(list(store.graph.commits()))
    store.batch([PutOp(("a",), str(number), {"text": str(number)}) for number in range(10)])
    assert len(list(store.graph.commits())) == before + 1


def test_the_store_refuses_what_it_cannot_keep(stores: tuple[OmnigraphStore, InMemoryStore]) -> None:
    store, _ = stores
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "1", {})])
    with pytest.raises(NotImplementedError):
        store.put(("a",), "1", {}, ttl=5)
    store.batch([PutOp(("a",), "1", {"n": 1})])
    with pytest.raises(UsageError, match="unknown operator of a filter"):
        store.search(("a",), filter={"n": {"$like": 1}})
    with pytest.raises(UsageError, match="unknown operation of a store: str"):
        store.batch(["get"])  # type: ignore[list-item] # on purpose


def test_both_share_a_graph_with_other_data(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "kb.omni", "node Person { name: String @key }")
    compiled = steps(OmnigraphSaver(graph), OmnigraphStore(graph))
    compiled.invoke({"seen": []}, {"configurable": {"thread_id": "t"}})
    assert graph.counts()["LangGraphCheckpoint"] == 3
    assert graph.counts()["Person"] == 0
