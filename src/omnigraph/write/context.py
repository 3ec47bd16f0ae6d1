"""Dependencies and options of a write: manifests, publisher, clock, id source."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.commit import CommitKind
from omnigraph.core.ports import Clock, IdSource
from omnigraph.core.profile import Profiler
from omnigraph.errors import UsageError
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.tables.io_meter import IoMeter
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from omnigraph.history.plan import CommitInfo
    from omnigraph.manifest.publisher import Publisher
    from omnigraph.manifest.queue import StageWave


class Publishing:
    """The publisher of a graph, made and imported with the first write."""

    def __init__(self, manifests: Manifests, stage_wave: StageWave) -> None:
        self._manifests = manifests
        self._stage_wave = stage_wave
        self._made: Publisher | None = None
        self._lock = threading.Lock()

    def publisher(self) -> Publisher:
        """One for all writers: it orders those of a process."""
        with self._lock:
            if self._made is None:
                from omnigraph.manifest.publisher import Publisher

                self._made = Publisher(self._manifests, self._stage_wave)
            return self._made


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Dependencies of a writer."""

    manifests: Manifests
    publishing: Publishing
    clock: Clock
    ids: IdSource
    profiler: Profiler = field(default_factory=Profiler)
    """Records the steps of a write; disabled by default."""

    @property
    def publisher(self) -> Publisher:
        return self.publishing.publisher()

    @property
    def store(self) -> Store:
        return self.manifests.store

    def profiled(self) -> WriteContext:
        """The same dependencies with a profiler for one write."""
        return replace(self, profiler=Profiler([], IoMeter(self.store)))


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a write."""

    actor: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    expected_head: str | None = None

    def __post_init__(self) -> None:
        for name, value in self.provenance.items():
            if not all(isinstance(part, str) for part in (name, value)):
                raise UsageError(
                    f"keys and values of the provenance are texts, got {name!r}: {value!r}",
                    hint=f"write {str(name)!r}: {str(value)!r}",
                )

    def info(self, context: WriteContext, kind: CommitKind) -> CommitInfo:
        """Commit metadata with a new id."""
        from omnigraph.history.plan import CommitInfo

        return CommitInfo(
            id=context.ids.new_id(),
            kind=kind,
            created_at_us=context.clock.now_us(),
            actor=self.actor,
            message=self.message,
            idempotency_key=self.idempotency_key,
            provenance=dict(self.provenance),
        )
