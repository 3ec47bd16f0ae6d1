"""Executors for maintenance tasks: sequential in this process, or parallel on Spark.

A task is a function of one item. Item and result can be pickled, and a task writes files with unique names only, so it
may run on any machine and more than once: only the results that are returned count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Run(Protocol):
    """Run a task for every item; the results are in the order of the items."""

    def __call__(self, work: Callable[[T], R], items: Sequence[T], /) -> list[R]: ...


@dataclass(frozen=True, slots=True)
class Workers:
    """An executor, and its name in reports."""

    name: str
    run: Run


def _run_here(work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
    return [work(item) for item in items]


HERE = Workers("embedded", _run_here)
"""Sequential execution in this process."""
