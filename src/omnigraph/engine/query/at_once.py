"""Reads that memory alone can answer, for event loops: they never wait, and take some microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from omnigraph.engine.query.result import QueryResult
from omnigraph.manifest.layout import MAIN


class Reading(Protocol):
    """A graph that can tell what it has in memory."""

    def _at_once(
        self, text: str, params: Mapping[str, object] | None, *, name: str | None, branch: str
    ) -> QueryResult | None: ...

    def _is_small(self, text: str, *, name: str | None, branch: str, compiles: bool) -> bool | None: ...


def query_at_once(
    graph: Reading,
    text: str,
    params: Mapping[str, object] | None = None,
    *,
    name: str | None = None,
    branch: str = MAIN,
) -> QueryResult | None:
    """The rows of a read, or None if it has to be run with ``graph.query``, which brings it into memory.

    It is answered if it ran before, starts from keys, meets few rows, and everything that it reads is cached.
    Raises what ``graph.query`` raises about rights and parameters.
    """
    return graph._at_once(text, params, name=name, branch=branch)


def is_small(
    graph: Reading, text: str, *, name: str | None = None, branch: str = MAIN, compiles: bool = True
) -> bool | None:
    """True if a run of a read in this process would let ``query_at_once`` answer it from then on.

    With ``compiles``, a text that is not known is compiled, which takes milliseconds; without, the answer is None.
    """
    return graph._is_small(text, name=name, branch=branch, compiles=compiles)
