"""Graphs for asyncio: the same verbs awaited, cancellation, async iteration, retries."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

import omnigraph
from omnigraph import aio
from omnigraph.aio.graph import AsyncAnalysis
from omnigraph.aio.mirror import awaited
from omnigraph.aio.threads import Threads
from omnigraph.core.ports import EmbeddingRole
from omnigraph.engine.analysis.run import Analysis
from omnigraph.errors import NotAGraphError, PreconditionFailed, QueryCancelled, ReadSetConflict, UsageError

SCHEMA = """node Person { name: String @key
  age: I32? }
node Doc { slug: String @key
  text: String
  vec: Vector(3)? @embed(text) }
edge Knows: Person -> Person
"""
ADD = "query add($name: String, $age: I32?) { insert Person {name: $name, age: $age} }"
NAMES = "query q() { match { $p: Person } return { $p.name as name } order { name asc } }"
NEAREST = 'query q() { match { $d: Doc } return { $d.slug } order { nearest($d.vec, "a") } limit 1 }'


class Gate:
    """An embedder that waits inside its call until it is let through, so that a test can act meanwhile."""

    model = "gate"

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> list[list[float]]:
        self.reached.set()
        assert self.opened.wait(60)
        return [[1.0] * dimension for _ in texts]


def test_every_public_member_of_the_blocking_classes_has_an_awaited_one() -> None:
    for blocking, mirror in ((omnigraph.Graph, aio.AsyncGraph), (Analysis, AsyncAnalysis)):
        for name, member in vars(blocking).items():
            if name.startswith("_"):
                continue
            assert name in vars(mirror), f"add it to omnigraph.aio: {name} = awaited({blocking.__name__}.{name})"
            own = vars(mirror)[name]
            if isinstance(member, property):
                assert isinstance(own, property)
                continue
            if name in ("acting_as", "under"):
                continue  # it reads nothing, so there is nothing to wait for
            if name != "retry":
                assert str(inspect.signature(own)) == str(inspect.signature(member))
            iterates = str(inspect.signature(member).return_annotation).startswith("Iterator[")
            assert inspect.iscoroutinefunction(own) is not iterates, name


def test_every_function_of_the_package_has_an_awaited_one() -> None:
    functions = {name for name in omnigraph.__all__ if inspect.isfunction(getattr(omnigraph, name))}
    assert functions - {"from_networkx"} <= {*aio.__all__}, "a conversion in memory needs no thread"


def test_the_verbs_are_awaited(tmp_path: Path) -> None:
    async def use() -> None:
        async with aio.create(tmp_path / "g", SCHEMA, durability="os") as graph:
            await asyncio.gather(*(graph.mutate(ADD, {"name": f"p{number}"}) for number in range(5)))
            loaded = await graph.load([{"edge": "Knows", "from": "p0", "to": "p1", "data": {}}], mode="append")
            assert loaded.total == 1
            assert (await graph.query(NAMES)).columns == ["name"]
            assert len([commit.id async for commit in graph.commits()]) == 7
            assert b"".join([part async for part in graph.export()]).count(b"\n") == 6
            assert len(await graph.analyze.degrees("Knows")) == 5
            assert (await graph.run(lambda: 1)) == 1
            assert repr(graph) == f"<AsyncGraph {graph.uri}>"
        with pytest.raises(UsageError, match="the graph is closed"):
            await graph.branches()
        again = await omnigraph.aio.open(tmp_path / "g")
        assert (await again.changes("beginning")).caught_up
        await again.aclose()
        assert (await aio.repair(tmp_path / "g")).steps == ()

    asyncio.run(use())


def test_errors_arrive_as_they_are(tmp_path: Path) -> None:
    async def use() -> None:
        with pytest.raises(NotAGraphError):
            await aio.open(tmp_path / "nothing")
        with pytest.raises(NotAGraphError):
            async with aio.open(tmp_path / "nothing"):
                pass

    asyncio.run(use())
    with pytest.raises(UsageError, match="got 0"):
        Threads(0)


def _run_gated(
    tmp_path: Path, work: Callable[[aio.AsyncGraph, threading.Event], Awaitable[object]], docs: int = 0
) -> tuple[omnigraph.Graph, threading.Event]:
    """Start work, cancel its task while it waits for the embedder, let it go on, and wait for its end."""
    gate, cancel = Gate(), threading.Event()
    blocking = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", embedder=gate)
    for number in range(docs):
        blocking.mutate(f'query q() {{ insert Doc {{slug: "{number}", text: "t", vec: [1.0, 0.0, 0.0]}} }}')

    async def use() -> None:
        async with aio.AsyncGraph(blocking) as graph:
            task = asyncio.ensure_future(work(graph, cancel))
            await asyncio.to_thread(gate.reached.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            gate.opened.set()

    asyncio.run(use())
    return blocking, cancel


def test_cancelling_a_task_cancels_its_query(tmp_path: Path) -> None:
    outcomes: list[object] = []

    async def ask(graph: aio.AsyncGraph, cancel: threading.Event) -> object:
        def query() -> object:
            try:
                return graph.blocking.query(NEAREST, cancel=cancel)
            except QueryCancelled as error:
                outcomes.append(error)
                raise

        return await graph.threads.call(query, cancel)

    _, cancel = _run_gated(tmp_path, ask, docs=1)
    assert cancel.is_set()
    assert len(outcomes) == 1, "the thread ended at the next step of the query"


def test_a_query_on_spark_is_given_no_event() -> None:
    """It takes no limits: its lazy frame runs when it is read."""

    class Engine:
        def query(self, engine: str = "embedded", cancel: threading.Event | None = None) -> bool:
            return cancel is not None

    class Mirror:
        blocking, threads = Engine(), Threads(1)
        query = awaited(Engine.query)

    assert asyncio.run(Mirror().query())
    assert not asyncio.run(Mirror().query(engine="spark"))


def test_the_event_of_a_query_is_set_also_if_the_caller_gave_it(tmp_path: Path) -> None:
    _, cancel = _run_gated(tmp_path, lambda graph, cancel: graph.query(NEAREST, cancel=cancel), docs=1)
    assert cancel.is_set()


def test_a_write_whose_task_is_cancelled_is_committed_as_a_whole(tmp_path: Path) -> None:
    insert = "query q() { " + " ".join(f'insert Doc {{slug: "{n}", text: "t"}}' for n in range(5)) + " }"
    graph, _ = _run_gated(tmp_path, lambda graph, _: graph.mutate(insert))
    assert graph.snapshot().counts()["node:Doc"] == 5


def test_a_call_that_waits_for_a_thread_never_starts_after_its_task_is_cancelled(tmp_path: Path) -> None:
    blocking = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    release = threading.Event()

    async def use() -> None:
        async with aio.AsyncGraph(blocking, threads=1) as graph:
            first = asyncio.ensure_future(graph.run(lambda: release.wait(60)))
            second = asyncio.ensure_future(graph.mutate(ADD, {"name": "late"}))
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            release.set()
            assert await first

    asyncio.run(use())
    assert blocking.snapshot().counts()["node:Person"] == 0


def test_work_is_retried_in_both_worlds(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    seen: list[str] = []

    def add(name: str) -> Callable[[omnigraph.Graph], object]:
        """Read the head, decide, write on the condition that it stayed; a competitor moves it the first time."""

        def work(handle: omnigraph.Graph) -> object:
            head = handle.commit("HEAD").id
            if head not in seen and len(seen) < 1:
                seen.append(head)
                graph.mutate(ADD, {"name": f"other of {name}"})
            return handle.mutate(ADD, {"name": name}, if_commit=head)

        return work

    graph.retry(add("ann"), on=PreconditionFailed, wait=0)
    seen.clear()

    async def use() -> None:
        async with aio.AsyncGraph(graph) as handle:
            work = add("bo")
            await handle.retry(lambda own: own.run(lambda: work(own.blocking)), on=PreconditionFailed, wait=0)
            attempts: list[int] = []

            @aio.retrying(attempts=3, wait=0)
            async def fail() -> None:
                attempts.append(1)
                raise ReadSetConflict("lost")

            with pytest.raises(ReadSetConflict, match="attempt 3 of 3"):
                await fail()
            assert len(attempts) == 3

            @aio.retrying
            async def succeed() -> int:
                return 7

            assert await succeed() == 7

    asyncio.run(use())
    assert [row["name"] for row in graph.query(NAMES)] == ["ann", "bo", "other of ann", "other of bo"]
