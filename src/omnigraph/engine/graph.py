"""``Graph``: the door of the embedded API. Each base class holds the verbs of one concern.

What only writers and checkers need is imported when one is called: a process that asks one question starts faster.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.core.ports import Clock, Embedder, IdSource, SystemClock, UlidSource
from omnigraph.engine.care import Care
from omnigraph.engine.comparing import Comparing
from omnigraph.engine.merging import Merging
from omnigraph.engine.migrating import Migrating
from omnigraph.engine.reverting import Reverting
from omnigraph.engine.writing import Writing
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from omnigraph.engine.analysis.run import Analysis
    from omnigraph.engine.upkeep.repair_result import RepairReport


class Graph(Comparing, Writing, Migrating, Merging, Reverting, Care):
    """One graph: a typed property graph with branches and history, on local disk or in an object store.

    Open one with ``omnigraph.open`` or make one with ``omnigraph.create``. A graph may be shared between threads and
    pickled.
    """

    @property
    def analyze(self) -> Analysis:
        """Algorithms over the whole graph: ``graph.analyze.pagerank("Knows")``, for example."""
        from omnigraph.engine.analysis.run import Analysis

        return Analysis(self, self._derived, self.load_with)


def open_graph(
    uri: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
    embedder: Embedder | None = None,
) -> Graph:
    """Open a graph. S3 takes ``storage_options`` or the usual ``AWS_*`` variables.

    The ``embedder`` turns texts of ``nearest``, and those that are written for ``@embed`` properties, into vectors, for
    example ``omnigraph.embed.from_environment()``.
    """
    return Graph(Store(uri, storage_options, durability), embedder=embedder)


def repair(
    uri: str | os.PathLike[str],
    *,
    apply: bool = False,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
) -> RepairReport:
    """Plan what can be done about damaged files, and do it with ``apply``. Works on a graph that cannot be opened.

    Damaged files are set aside below ``aside/`` and never deleted. No other process may write meanwhile.
    """
    from omnigraph.engine.upkeep.repair import repair as repair_store

    return repair_store(Store(uri, storage_options, durability), UlidSource(), apply=apply)


def create(
    uri: str | os.PathLike[str],
    schema: str,
    *,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
    actor: str | None = None,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    embedder: Embedder | None = None,
) -> Graph:
    """Make a new graph with a schema text and open it."""
    from omnigraph.engine.schema.creation import create_from_text

    store = Store(uri, storage_options, durability)
    clock = clock or SystemClock()
    ids = ids or UlidSource(clock)
    create_from_text(store, schema, clock, ids, actor)
    return Graph(store, clock=clock, ids=ids, embedder=embedder)
