"""Roads: the steps of one kind of request, in the order in which they decide what a caller learns.

check (is the request sound?) -> gate (may the actor do this?) -> admission (is there room?) -> handler. A stored query
leads from its own road to that of a read or of a mutation, which has its own gate and admission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from omnigraph.core.actors import Need
from omnigraph.server.call import Call
from omnigraph.server.http.refusals import Refusal
from omnigraph.server.http.replies import Reply


class Lane(Enum):
    """Place where the work of a request runs."""

    LOOP = "loop"
    """On the event loop: work that neither blocks nor computes."""
    READ = "read"
    WRITE = "write"


def _never(call: Call) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Gate:
    """Needs of a request. ``hidden`` is the answer to a denial where it must look like something missing."""

    needs: Callable[[Call], Iterable[Need]]
    hidden: Callable[[Call], Refusal] | None = None
    is_blocking: Callable[[Call], bool] = _never
    """True if the needs of a call depend on the store, so that they are found on a thread."""
    of_server: bool = False
    """The needs are of the server, not of a graph."""


@dataclass(frozen=True, slots=True)
class Road:
    """The steps of a request. ``size`` estimates the bytes of a write that is admitted; None is not admitted."""

    gate: Gate
    handler: Callable[[Call, Any], Reply | Onward]
    lane: Lane = Lane.READ
    check: Callable[[Call, Any], None] | None = None
    after_gate: Callable[[Call], None] | None = None
    """A refusal that only callers with rights may see."""
    size: Callable[[Any], int] | None = None
    in_reader: bool = False
    """The handler computes and needs nothing of this process but its graph, so that a reader process can run it."""
    at_once: Callable[[Call, Any], Reply | None] | None = None
    """The same answer on the event loop, if memory alone can give it; None if the handler has to run."""
    is_small: Callable[[Call, Any, bool], bool | None] | None = None
    """True if a run of the handler in this process lets ``at_once`` answer the next ones; None if that takes longer to
    find out than the last argument allows."""
    is_stream: bool = False
    """The answer is a stream of a whole graph, which needs a place in the transport."""


@dataclass(frozen=True, slots=True)
class Onward:
    """The road that a request takes next, with the body that it has there."""

    road: Road
    body: Any


OPEN: Gate = Gate(lambda call: ())
"""The gate of what everyone may know."""
