"""Group commit of records: writes that several threads make at the same time become one load.

A framework calls its store once for each small change. One thread at a time writes, and takes along what the others
have brought meanwhile; every caller returns when its own records are committed.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from omnigraph.errors import OutcomeUnknown
from omnigraph.integrations.graphs import AnyGraph

RECORDS_MAX: Final = 10_000
"""Records of one commit; more of them wait for the next one."""

Record = Mapping[str, Any]
Records = Mapping[Hashable, Record]
"""Records by what identifies their entity."""


@dataclass(slots=True)
class _Waiting:
    """The records of one caller, and their outcome."""

    records: Records
    done: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None


class Batches:
    """Writes records to one branch. A record replaces its entity whole; the last one of an entity counts."""

    def __init__(self, graph: AnyGraph, branch: str, message: str) -> None:
        self._graph = graph
        self._branch = branch
        self._message = message
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._is_writing = False
        self.commits = 0
        """Loads that were made, for measurements."""

    def write(self, records: Records) -> None:
        """Commit records; raises the error of the load."""
        if not records:
            return
        own = _Waiting(records)
        with self._lock:
            self._waiting.append(own)
            if self._is_writing:
                leads = False
            else:
                leads = self._is_writing = True
        if leads:
            self._lead()
        own.done.wait()
        if own.error is not None:
            raise own.error

    def _lead(self) -> None:
        """Write until no caller is waiting. Callers that come later find that no thread writes, and lead."""
        while True:
            with self._lock:
                batch = _taken(self._waiting)
                if not batch:
                    self._is_writing = False
                    return
            self._commit(batch)

    def _commit(self, batch: list[_Waiting]) -> None:
        try:
            merged = {key: record for item in batch for key, record in item.records.items()}
            self._load(list(merged.values()))
        except BaseException as error:
            if len(batch) == 1:
                batch[0].error = error
                batch[0].done.set()
                if not isinstance(error, Exception):
                    # The thread is being ended; those behind it must not wait for it.
                    self._give_up(error)
                return
            # The records of one caller must not fail those of the others.
            for item in batch:
                self._commit([item])
            return
        for item in batch:
            item.done.set()

    def _give_up(self, error: BaseException) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for item in waiting:
            item.error = error
            item.done.set()

    def _load(self, records: list[Record]) -> None:
        # A repeated load of the same records writes the same entities, so an unknown outcome may be repeated too.
        self._graph.retry(
            lambda graph: graph.load(records, "merge", branch=self._branch, message=self._message), on=OutcomeUnknown
        )
        self.commits += 1


def _taken(waiting: list[_Waiting]) -> list[_Waiting]:
    """The first callers whose records fit into one commit, at least one; they are removed from the list."""
    number, size = 0, 0
    while number < len(waiting) and (number == 0 or size + len(waiting[number].records) <= RECORDS_MAX):
        size += len(waiting[number].records)
        number += 1
    batch = waiting[:number]
    del waiting[:number]
    return batch
