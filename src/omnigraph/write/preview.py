"""Two endings of a write: publish the prepared change, or render it as a preview."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from omnigraph.core.tables import Counts
from omnigraph.manifest.queue import Published
from omnigraph.manifest.reader import Capture
from omnigraph.write.attempt import Prepared, WriteJob, commit, prepare
from omnigraph.write.context import WriteContext


class Countable(Prepared, Protocol):
    """A prepared change that knows its counts before it is staged."""

    def counts(self, capture: Capture) -> Mapping[str, Counts]:
        """The counts by table."""
        ...


@dataclass(frozen=True, slots=True)
class Previewed:
    """The counts of a change that was prepared on the state with this head, and not staged."""

    head: str
    counts: Mapping[str, Counts]


C = TypeVar("C", bound=Countable)

Finish = Callable[[WriteContext, WriteJob[Any]], Published | Previewed]
"""Ends a load, which is never empty: ``publish`` or ``preview``."""


def publish(context: WriteContext, job: WriteJob[C]) -> Published:
    """Commit the change."""
    _, published = commit(context, job)
    assert published is not None, "a load is never empty"
    return published


def preview(context: WriteContext, job: WriteJob[C]) -> Previewed:
    """Prepare the change and count it; nothing is staged."""
    capture, prepared = prepare(context, job)
    return Previewed(capture.state.head, prepared.counts(capture))


def is_committed(finished: Published | Previewed, commit_id: str) -> bool:
    """True if this change was committed: not previewed, and not answered by an earlier commit of its key."""
    return isinstance(finished, Published) and finished.commit.id == commit_id
