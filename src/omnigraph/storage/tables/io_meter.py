"""Input and output of the open tables of a store, counted."""

from __future__ import annotations

from dataclasses import field

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.storage.outbox.traffic import Traffic
from omnigraph.storage.tables.store import Store


@dataclass
class IoMeter:
    """Requests and bytes, read and written, of the tables of a store since the meter was made.

    Lance counts per open table and resets a count when it is read, so two meters over one store each see only a part.
    The outbox of a bucket counts what it does without Lance.
    """

    store: Store
    requests: int = 0
    bytes: int = 0
    write_requests: int = 0
    written: int = 0
    _traffic: Traffic = field(default_factory=Traffic)

    def __post_init__(self) -> None:
        self.read()
        self.requests = self.bytes = self.write_requests = self.written = 0

    def read(self) -> tuple[int, int]:
        """Requests that read and bytes read so far; those of writes are counted on the way."""
        for dataset in self.store.opened():
            stats = dataset.io_stats_incremental()
            self.requests += stats.read_iops
            self.bytes += stats.read_bytes
            self.write_requests += stats.write_iops
            self.written += stats.written_bytes
        before, self._traffic = self._traffic, self.store.traffic
        self.requests += self._traffic.reads - before.reads
        self.bytes += self._traffic.bytes_read - before.bytes_read
        self.write_requests += self._traffic.writes - before.writes
        self.written += self._traffic.bytes_written - before.bytes_written
        return self.requests, self.bytes

    def totals(self) -> tuple[int, int, int]:
        """All requests, bytes read and bytes written so far."""
        requests, size = self.read()
        return requests + self.write_requests, size, self.written
