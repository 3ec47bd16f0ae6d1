"""What every part of ``Graph`` stands on: the store, its manifests, and how a graph is opened again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.core.limits import FEED_KEPT_BYTES
from omnigraph.core.lru import Lru
from omnigraph.core.ports import Clock, Embedder, IdSource, SystemClock, UlidSource
from omnigraph.engine.extensions import EMBED, extension
from omnigraph.engine.query.run import Compiler
from omnigraph.engine.snapshot import Snapshot
from omnigraph.exec.graph_view import Derived
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.layout import read_stamp
from omnigraph.manifest.publisher import Publisher
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.tables.array_cache import ArrayCache, cache_directory
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import WriteContext

if TYPE_CHECKING:
    from omnigraph.engine.history.commit_changes import Compared


class GraphHandle:
    """An open graph without its verbs."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock or SystemClock()
        self._ids = ids or UlidSource(self._clock)
        self._start()

    def _start(self) -> None:
        self._manifests = Manifests(self._store, read_stamp(self._store))
        self._context = WriteContext(self._manifests, Publisher(self._manifests), self._clock, self._ids)
        self._compiler = Compiler()
        cache = ArrayCache(cache_directory(self._store.root.path, self.id))
        self._derived = Derived.kept_in(cache)
        self._compared: Compared = Lru(FEED_KEPT_BYTES, lambda found: sum(rows.nbytes for rows in found))

    def __getstate__(self) -> dict[str, Any]:
        return {"_store": self._store, "_embedder": self._embedder}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_store"], embedder=state["_embedder"])  # type: ignore[misc] # unpickling is opening again

    def __repr__(self) -> str:
        return f"<Graph {self.uri}>"

    @property
    def uri(self) -> str:
        """Where the graph is."""
        return str(self._store.root)

    @property
    def storage_options(self) -> Mapping[str, str]:
        """Options of the object store, as it was opened with them."""
        return self._store.options

    @property
    def id(self) -> str:
        """The graph's own id, the same wherever it is copied."""
        return self._manifests.stamp.graph_id

    @property
    def embedder(self) -> Embedder | None:
        """The embedder for texts that are written: the one handed in, else the one the environment names."""
        configured: Embedder | None = self._embedder or extension(EMBED).configured()
        return configured

    def _snapshot(self, state: ManifestState) -> Snapshot:
        return Snapshot(self._store, state, self._manifests.catalog(state.schema_digest))

    def _head(self, branch: str) -> ManifestState:
        return branches.find_head(self._manifests, branch)
