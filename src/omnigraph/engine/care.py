"""The caring verbs of ``Graph``: checking and keeping it in shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.engine.handle import GraphHandle
from omnigraph.engine.results import VerifyReport
from omnigraph.engine.telemetry import told
from omnigraph.exec.graph_view import GraphView
from omnigraph.manifest.layout import MAIN
from omnigraph.write.context import WriteOptions

if TYPE_CHECKING:
    from omnigraph.core.durations import Duration
    from omnigraph.engine.snapshot import Snapshot
    from omnigraph.engine.upkeep.cleanup_result import CleanupResult
    from omnigraph.engine.upkeep.doctor import Finding
    from omnigraph.engine.upkeep.optimize_result import OptimizeResult


class Care(GraphHandle):
    """Maintenance of a graph."""

    @told("verify")
    def verify(self, *, deep: bool = True, progress: Callable[[int], None] | None = None) -> VerifyReport:
        """Check that every file of every branch's history is there and as it was written.

        A deep check also looks at the entities of every head: each id once, each edge with its nodes. Without ``deep``
        files are compared by their sizes, and none is read.
        """
        from omnigraph.engine.upkeep.verify import verify

        return verify(self._manifests, deep=deep, progress=progress)

    @told("doctor")
    def doctor(self, branch: str = MAIN) -> list[Finding]:
        """Look at the store and the tables of a branch: what was found, and what would do them good.

        A file that cannot be read is a finding with the verdict ``problem``; the rest is looked at as well.
        """
        from omnigraph.engine.upkeep.doctor import examined

        def open_branch() -> tuple[GraphView, Snapshot]:
            snapshot = self._snapshot(self._head(branch))
            return GraphView(self._store, snapshot.state, snapshot.catalog, self._derived), snapshot

        return examined(self._manifests, open_branch)

    @told("optimize")
    def optimize(
        self,
        branch: str = MAIN,
        *,
        types: Sequence[str] | None = None,
        compact: bool = True,
        index: bool = True,
        engine: str = "auto",
        spark: Any = None,
        actor: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> OptimizeResult:
        """Compact the files of a branch's tables and bring their indexes up to date; answers stay the same.

        Others may read and write meanwhile. What they change while it is worked on is left for the next time, with
        the reason. ``engine`` says who reads and writes the data of large tables: this process (``embedded``), the
        executors of a Spark session (``spark``), or whichever suits the size of the table (``auto``). ``progress`` is
        told how many tables are done.
        """
        from omnigraph.engine.upkeep.optimize import maintain, workers_for
        from omnigraph.write.upkeep.optimize import OptimizeSettings

        settings = OptimizeSettings(compact, index, workers_for(engine, spark))
        return maintain(self._context, branch, types, WriteOptions(actor), progress, settings)

    @told("cleanup")
    def cleanup(
        self,
        *,
        keep: int | None = None,
        older_than: Duration | None = None,
        grace: Duration | None = None,
        dry_run: bool = False,
        engine: str = "embedded",
        spark: Any = None,
        progress: Callable[[int], None] | None = None,
    ) -> CleanupResult:
        """Give up old commits, if told which, and delete files that nothing refers to.

        Of every branch the newest ``keep`` commits stay readable, and those that are not ``older_than`` an age such as
        ``"7d"``; without both no commit is given up. What is given up is deleted by a run at least ``grace`` later
        (``"24h"``), and so is every file that old that no commit refers to: until then readers and writers that began
        before go on. A smaller ``grace`` is safe only if nobody reads or writes for longer than that. ``engine`` says
        who lists and deletes: ``embedded``, ``spark`` or ``auto``.
        """
        from omnigraph.engine.upkeep.cleanup import clean

        return clean(self._context, keep, older_than, grace, engine, spark, progress, dry_run=dry_run)
