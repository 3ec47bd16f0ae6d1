"""What every writer is given: the graph's manifests, its publisher, time and ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from omnigraph.core.commit import CommitKind
from omnigraph.core.ports import Clock, IdSource
from omnigraph.core.profile import Profiler
from omnigraph.history.plan import CommitInfo
from omnigraph.manifest.publisher import Publisher
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.tables.io_meter import IoMeter
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The world a writer works in."""

    manifests: Manifests
    publisher: Publisher
    clock: Clock
    ids: IdSource
    profiler: Profiler = field(default_factory=Profiler)
    """Notes what the steps of a write do; without entries it notes nothing."""

    @property
    def store(self) -> Store:
        return self.manifests.store

    def profiled(self) -> WriteContext:
        """The same world for one write that is watched."""
        return replace(self, profiler=Profiler([], IoMeter(self.store)))


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a caller may say about a write."""

    actor: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    expected_head: str | None = None

    def info(self, context: WriteContext, kind: CommitKind) -> CommitInfo:
        """The commit's own words, with a fresh id."""
        return CommitInfo(
            id=context.ids.new_id(),
            kind=kind,
            created_at_us=context.clock.now_us(),
            actor=self.actor,
            message=self.message,
            idempotency_key=self.idempotency_key,
            provenance=dict(self.provenance),
        )
