"""The functions of the package, awaited: ``open``, ``create`` and others."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Generator
from typing import Any, ParamSpec, TypeVar

from omnigraph.aio.graph import AsyncGraph
from omnigraph.client.opening import open_graph
from omnigraph.engine import graph as blocking
from omnigraph.engine.graph import Graph

P = ParamSpec("P")
R = TypeVar("R")


class Opening:
    """A graph that is being opened: await it, or use it as ``async with``, which closes the graph at its end."""

    def __init__(self, start: Callable[[], Graph]) -> None:
        self._start = start
        self._graph: AsyncGraph | None = None

    def __await__(self) -> Generator[Any, None, AsyncGraph]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncGraph:
        self._graph = await self._open()
        return self._graph

    async def __aexit__(self, *error: object) -> None:
        assert self._graph is not None, "an exit follows an entry"
        await self._graph.aclose()

    async def _open(self) -> AsyncGraph:
        return AsyncGraph(await asyncio.to_thread(self._start))


def _opening(function: Callable[P, Graph]) -> Callable[P, Opening]:
    @functools.wraps(function)
    def start(*args: P.args, **kwargs: P.kwargs) -> Opening:
        return Opening(functools.partial(function, *args, **kwargs))

    return start


def _awaited(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(function, *args, **kwargs)

    return call


open = _opening(open_graph)
create = _opening(blocking.create)
repair = _awaited(blocking.repair)
restore = _awaited(blocking.restore)
infer_schema = _awaited(blocking.infer_schema)
import_data = _awaited(blocking.import_data)
