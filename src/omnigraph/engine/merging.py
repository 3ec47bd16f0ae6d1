"""The merging verbs of ``Graph``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.engine.branches import Branching
from omnigraph.engine.telemetry import told
from omnigraph.errors import UsageError
from omnigraph.manifest.layout import MAIN
from omnigraph.write.context import WriteOptions

if TYPE_CHECKING:
    from omnigraph.engine.merge.result import MergePreview, MergeResult, Policy
    from omnigraph.history.conflicts import Resolution


class Merging(Branching):
    """Bringing branches together."""

    @told("merge")
    def merge(
        self,
        source: str | MergePreview,
        into: str | None = None,
        *,
        policy: Policy = None,
        resolutions: Sequence[Mapping[str, Any] | Resolution] = (),
        engine: str = "auto",
        spark: Any = None,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
    ) -> MergeResult:
        """Merge a branch into another one (``main``) as one commit; or exactly what a preview showed.

        ``policy`` says how two changes of one property are settled where the schema does not: a word such as
        ``"source"``, or words by ``Type``, ``Type.property`` and ``*``. ``resolutions`` settle single conflicts or
        kinds of them: ``{"type": "Person", "id": "ann", "property": "age", "take": "source"}``. If conflicts stay,
        ``MergeConflicts`` is raised with all of them, and nothing is changed. ``engine`` says who merges tables that
        both branches changed: this process (``embedded``), the executors of a Spark session (``spark``), or whichever
        suits the number of rows that can differ (``auto``).
        """
        from omnigraph.engine.merge import run as merges
        from omnigraph.engine.merge.result import MergePreview

        options = WriteOptions(actor, message, idempotency_key, provenance or {}, if_commit)
        who = merges.Engine(engine, spark)
        if isinstance(source, MergePreview):
            if into is not None or policy is not None or if_commit is not None:
                raise UsageError("a preview says itself what is merged, where and how", hint="pass only resolutions")
            return merges.resume(self._context, source, resolutions, who, options)
        return merges.merge(self._context, source, into or MAIN, policy, resolutions, who, options)

    @told("merge_preview")
    def merge_preview(
        self,
        source: str,
        into: str = MAIN,
        *,
        policy: Policy = None,
        resolutions: Sequence[Mapping[str, Any] | Resolution] = (),
        engine: str = "auto",
        spark: Any = None,
    ) -> MergePreview:
        """What ``merge`` would do, with all conflicts. Nothing is written."""
        from omnigraph.engine.merge import run as merges

        return merges.preview(self._context, source, into, policy, resolutions, merges.Engine(engine, spark))
