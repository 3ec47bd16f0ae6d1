"""Who does the pieces of a large piece of work: this process, one after the other, or others at the same time.

A piece is a function of one item. Item and result can be pickled, and what a piece writes has a name of its own, so it
does not matter where it runs, or how often: only results that came back count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Run(Protocol):
    """Does the same work for every item; the results are in the order of the items."""

    def __call__(self, work: Callable[[T], R], items: Sequence[T], /) -> list[R]: ...


@dataclass(frozen=True, slots=True)
class Workers:
    """Somebody who does pieces, and the name by which reports call them."""

    name: str
    run: Run


def _run_here(work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
    return [work(item) for item in items]


HERE = Workers("embedded", _run_here)
"""This process."""
