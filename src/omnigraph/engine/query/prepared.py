"""Prepared queries: checked once, run many times with other parameters."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from omnigraph.core.display import Display, Displayed
from omnigraph.engine.query.choice import QueryLimits
from omnigraph.engine.query.result import QueryResult


class Runs(Protocol):
    """``Graph.query``: every run passes through it, with all that it checks."""

    def __call__(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: str | datetime | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: threading.Event | None = None,
        stats: bool = False,
    ) -> QueryResult: ...


class RunsUnchecked(Protocol):
    """The same behind the checks of arguments and of rights."""

    def __call__(
        self,
        limits: QueryLimits,
        text: str,
        params: Mapping[str, object] | None,
        *,
        name: str | None,
        branch: str | None,
        at: str | datetime | None,
    ) -> QueryResult: ...


_TIMES: Final = (type(None), int, float)
_SIZES: Final = (type(None), int)


@dataclass(frozen=True, slots=True, repr=False)
class PreparedQuery(Displayed):
    """A query to run many times; ``graph.prepare`` makes it. Every run reads the newest commit of the branch.

    Parsing, checking and planning are done. A run that looks up nodes by their keys and meets few rows takes some tens
    of microseconds.
    """

    name: str
    parameters: Mapping[str, str]
    """The declared parameters and their types."""
    columns: tuple[str, ...]
    text: str
    branch: str | None
    at: str | datetime | None
    _query: Runs
    _unchecked: RunsUnchecked | None = None
    """Given for a graph without a policy and without an actor, whose gates let everything pass."""

    def _display(self) -> Display:
        declared = ", ".join(f"${name}: {type_}" for name, type_ in self.parameters.items())
        return Display(f"PreparedQuery {self.name}({declared}): {', '.join(self.columns)}")

    def run(
        self,
        params: Mapping[str, object] | None = None,
        *,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: threading.Event | None = None,
        stats: bool = False,
    ) -> QueryResult:
        """The result for some parameters; limits are those of ``Graph.query``."""
        run = self._unchecked
        # Values of exactly these types pass the checks, which take as long as a look-up.
        if (
            run is not None
            and type(params) is dict
            and type(timeout) in _TIMES
            and type(memory_limit) in _SIZES
            and cancel is None
            and stats is False
        ):
            limits = QueryLimits(timeout, memory_limit)
            return run(limits, self.text, params, name=self.name, branch=self.branch, at=self.at)
        return self._query(
            self.text,
            params,
            name=self.name,
            branch=self.branch,
            at=self.at,
            timeout=timeout,
            memory_limit=memory_limit,
            cancel=cancel,
            stats=stats,
        )

    def rows(self, params: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
        """The rows for some parameters, as dicts with Python values."""
        return self.run(params).to_dicts()
