"""Records of the jobs that servers have acknowledged, in the store of their graph: they outlive the server.

A record is a sealed file ``served/<id>.json``. It is written before a job is acknowledged, replaced when the job ends,
and deleted when the server forgets the job. Nothing else reads it: a graph without these files is the same graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from omnigraph.core.ids import is_ulid
from omnigraph.errors import CorruptionError
from omnigraph.storage.objects.protocol import Objects
from omnigraph.storage.objects.sealed import seal, unseal
from omnigraph.storage.tables.store import Store

DIRECTORY: Final = "served"
_SUFFIX: Final = ".json"


class Stored(Protocol):
    """A graph, by its store."""

    @property
    def _store(self) -> Store: ...


@dataclass(frozen=True, slots=True)
class JobRecords:
    """The records of one graph."""

    objects: Objects

    def write(self, job_id: str, facts: Mapping[str, Any]) -> None:
        """Create or replace a record. It is durable when this returns."""
        self.objects.replace(_path(job_id), seal(facts))

    def read(self, job_id: str) -> dict[str, Any] | None:
        """A record; None if there is none, or if it cannot be read: then nothing is known about the job."""
        if not is_ulid(job_id):
            return None
        content = self.objects.read(_path(job_id))
        try:
            return None if content is None else unseal(content, _path(job_id))
        except CorruptionError:
            return None

    def ids(self) -> list[str]:
        """The ids of all records, newest first."""
        names = (path.rpartition("/")[2].removesuffix(_SUFFIX) for path, _ in self.objects.list(f"{DIRECTORY}/"))
        return sorted(filter(is_ulid, names), reverse=True)

    def delete(self, job_ids: Iterable[str]) -> None:
        for job_id in job_ids:
            self.objects.delete(_path(job_id))


def job_records(graph: Stored) -> JobRecords:
    """The records of a graph."""
    return JobRecords(graph._store.objects)


def _path(job_id: str) -> str:
    return f"{DIRECTORY}/{job_id}{_SUFFIX}"
