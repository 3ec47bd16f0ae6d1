"""Faults in tasks of any job: a killed executor, a slow task with a second copy, a task that fails once or always.

Every task of the package runs through ``mapped``, so its replacement on the driver reaches all of them. A task is
struck on its way back, when all of its output is made: the worst moment, because its files are there. Marks on a shared
disk count the tasks of all executors. Tasks of ``run_tasks`` are struck within the function that they run, so that an
error takes the way of errors to the driver; others after it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from omnigraph.errors import StorageError
from omnigraph.spark.cluster import python_workers, tasks

SLOW_SECONDS = 120
LOST_SECONDS = 60
BROKEN = "the disk is broken"


@dataclass(frozen=True)
class Fault:
    """One fault at one position: the number of finished tasks before the one that is struck."""

    kind: str
    position: int
    marks: str
    store: str

    def strike(self) -> None:
        """Called in a task whose output is made."""
        place = Path(self.marks)
        number = len(list(place.glob("done-*")))
        (place / f"done-{os.getpid()}-{time.monotonic_ns()}").touch()
        if number < self.position:
            return
        match self.kind:
            case "kill":
                self._kill(place)
            case "slow":
                self._wait(place)
            case "fail":
                self._fail(place)
            case _:
                _is_first(place / "struck", self._head())
                raise StorageError(BROKEN)

    def _kill(self, place: Path) -> None:
        if _is_first(place / "struck", self._head()):
            os.kill(_executor(), signal.SIGKILL)
            time.sleep(LOST_SECONDS)

    def _wait(self, place: Path) -> None:
        if _is_first(place / "struck", self._head()):
            (place / f"copy-{_attempt()}").touch()
            time.sleep(SLOW_SECONDS)
            (place / "copy-none").touch()
            raise AssertionError("there was no second copy")
        if _attempt() > 0:
            (place / f"copy-{_attempt()}").touch()

    def _fail(self, place: Path) -> None:
        if _is_first(place / "struck", self._head()):
            raise StorageError("the disk was away")

    def _head(self) -> str:
        """The head of the graph that a reader sees while the job runs."""
        from omnigraph.engine.graph import open_graph

        return open_graph(self.store).snapshot().commit_id


def _is_first(mark: Path, content: str) -> bool:
    try:
        with mark.open("x") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def _attempt() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.attemptNumber()


def _executor() -> int:
    """The process whose Python worker this is: between them is the one that forks workers."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().split()[3])


def _struck(fault: Fault, work: Callable[[Any], Iterator[Any]], batches: Any) -> Iterator[Any]:
    made = list(work(batches))
    fault.strike()
    yield from made


def _struck_item(fault: Fault, work: Callable[[Any], Any], item: Any) -> Any:
    made = work(item)
    fault.strike()
    return made


def _with(fault: Fault, work: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    if isinstance(work, partial) and work.func is tasks._run_items:
        done, *others = work.args
        return partial(tasks._run_items, partial(_struck_item, fault, done), *others)
    return partial(_struck, fault, work)


@contextmanager
def disturbing(fault: Fault) -> Iterator[None]:
    """Strike the tasks of all jobs that are made in the block."""
    from pyspark import cloudpickle

    # Executors have the package, but not its tests.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    usual = python_workers.mapped

    def mapped(frame: Any, work: Callable[[Any], Iterator[Any]], columns: Any) -> Any:
        return usual(frame, _with(fault, work), columns)

    holders = [module for name, module in list(sys.modules.items()) if name.startswith("omnigraph.spark")]
    holders = [module for module in holders if getattr(module, "mapped", None) is usual]
    for module in holders:
        module.mapped = mapped  # type: ignore[attr-defined] # the name under which each module has it
    try:
        yield
    finally:
        for module in holders:
            module.mapped = usual  # type: ignore[attr-defined] # see above
