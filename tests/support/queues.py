"""Writers that wait for the same branch, in a known order."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import omnigraph


@contextmanager
def held_door(graph: omnigraph.Graph) -> Iterator[Callable[[], int]]:
    """No write is published inside the block. The block gets a function that counts those that wait."""
    door = graph._context.publisher._door(graph.id)
    door.is_busy = True
    try:
        yield lambda: len(door.waiting)
    finally:
        door.leave()


def together(graph: omnigraph.Graph, writes: list[Callable[[], Any]]) -> list[Future[Any]]:
    """Start writes one after the other, so that they queue in this order, and publish them as one group."""
    futures: list[Future[Any]] = []
    with ThreadPoolExecutor(len(writes)) as pool, held_door(graph) as waiting:
        for write in writes:
            futures.append(pool.submit(write))
            # A write that is refused at once never waits.
            while waiting() + sum(future.done() for future in futures) < len(futures):
                threading.Event().wait(0.001)
        # Leaving the block opens the door.
    return futures
