"""The writing verbs of ``Graph``: mutations and loads, each of which is one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omnigraph.engine.branches import Branching
from omnigraph.engine.extensions import SPARK, extension
from omnigraph.engine.results import LoadResult, MutationResult
from omnigraph.engine.telemetry import told
from omnigraph.errors import NotFoundError
from omnigraph.manifest import branches
from omnigraph.manifest.layout import MAIN
from omnigraph.write.context import WriteOptions

if TYPE_CHECKING:
    from omnigraph.engine.load.run import Loader, LoadRequest
    from omnigraph.engine.load.sources import Loadable
    from omnigraph.engine.previews import WritePreview
    from omnigraph.write.load.plan import LoadMode


class Writing(Branching):
    """Changes to a graph."""

    @told("mutate")
    def mutate(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str = MAIN,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
        profile: bool = False,
    ) -> MutationResult:
        """Run the statements of a mutation query as one commit.

        With ``if_commit`` it is made only if that commit is the head of the branch. A repeated ``idempotency_key``
        returns the first commit instead of writing again. With ``profile`` the result tells what every step did.
        """
        from omnigraph.engine.load import mutations as writes

        options = WriteOptions(actor, message, idempotency_key, provenance or {}, if_commit)
        context = self._context.profiled() if profile else self._context
        return writes.mutate(context, self._compiler, text, params, name, branch, options, lambda: self.embedder)

    @told("mutate_preview")
    def mutate_preview(
        self, text: str, params: Mapping[str, object] | None = None, *, name: str | None = None, branch: str = MAIN
    ) -> WritePreview:
        """What a mutation would do to each table. Its statements are run and checked, and its texts embedded; nothing
        is written."""
        from omnigraph.engine.load import mutations as writes
        from omnigraph.engine.previews import preview

        self._head(branch)
        options = WriteOptions(dry_run=True)
        return preview(
            branch,
            lambda: writes.mutate(
                self._context, self._compiler, text, params, name, branch, options, lambda: self.embedder
            ),
        )

    def load(
        self,
        data: Loadable,
        mode: str | LoadMode = "merge",
        *,
        type_name: str | None = None,
        branch: str = MAIN,
        base: str | None = None,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        progress: Callable[[int], None] | None = None,
        source_options: Mapping[str, str] | None = None,
        profile: bool = False,
    ) -> LoadResult:
        """Load entities of any number of types as one commit.

        ``data`` is a JSON-lines file (path, ``s3://`` address or open file), a list of them, an iterable of records, an
        Arrow table, reader, pandas or polars frame of one type (``type_name``), or such tables by type. With ``base`` a
        missing branch is forked from that one first. ``progress`` is told how many rows were read so far.
        ``source_options`` are options of the object store that files are in, those of the graph if not given. There is
        no limit to the size of the input. With ``profile`` the result tells what every step did.
        """
        from omnigraph.engine.load import run as loading

        request = loading.LoadRequest(mode, branch, base, actor, message, idempotency_key, provenance or {}, profile)
        return self.load_with(loading.embedded(data, type_name, progress, source_options), request)

    def load_preview(
        self,
        data: Loadable,
        mode: str | LoadMode = "merge",
        *,
        type_name: str | None = None,
        branch: str = MAIN,
        base: str | None = None,
        progress: Callable[[int], None] | None = None,
        source_options: Mapping[str, str] | None = None,
    ) -> WritePreview:
        """What a load would do to each table. All of the input is read and checked, and its texts embedded; nothing
        that others could see is written. With ``base`` a missing branch is taken to be like that one."""
        from omnigraph.engine.load import run as loading

        loader = loading.embedded(data, type_name, progress, source_options)
        return self.preview_with(loader, loading.LoadRequest(mode, branch, base))

    def load_spark(self, sources: Any = None, mode: str | LoadMode = "merge", **options: Any) -> LoadResult:
        """Load with Spark, as one commit: ``omnigraph.spark.load.api`` says what ``sources`` and ``options`` may be."""
        loaded: LoadResult = extension(SPARK).load(self, sources, mode, **options)
        return loaded

    def load_spark_preview(self, sources: Any = None, mode: str | LoadMode = "merge", **options: Any) -> WritePreview:
        """What a load with Spark would do to each table: ``omnigraph.spark.load_preview`` says what ``sources`` and
        ``options`` may be."""
        seen: WritePreview = extension(SPARK).load_preview(self, sources, mode, **options)
        return seen

    @told("load")
    def load_with(self, loader: Loader, request: LoadRequest) -> LoadResult:
        """Run a loader. A branch that is made for it (``base``) goes away again if it fails."""
        from omnigraph.engine.load import run as loading

        request.parsed_mode()
        created = self._ensure_branch(request.branch, request.base, request.actor)
        try:
            return loading.run_load(self._context, request, loader, lambda: self.embedder, created=created)
        except BaseException:
            if created:
                self.delete_branch(request.branch)
            raise

    @told("load_preview")
    def preview_with(self, loader: Loader, request: LoadRequest) -> WritePreview:
        """What a loader would do to each table. A branch that would be made for it is taken to be like its ``base``."""
        from omnigraph.engine.load import run as loading
        from omnigraph.engine.previews import preview

        known = request.branch if request.base is None or self._has_branch(request.branch) else request.base
        self._head(known)
        dry = replace(request, branch=known, base=None, dry_run=True)
        return preview(
            request.branch,
            lambda: loading.run_load(self._context, dry, loader, lambda: self.embedder, created=False),
        )

    def _ensure_branch(self, branch: str, base: str | None, actor: str | None) -> bool:
        if base is None or self._has_branch(branch):
            return False
        self.create_branch(branch, base, actor=actor)
        return True

    def _has_branch(self, branch: str) -> bool:
        try:
            branches.find_ref(self._manifests, branch)
        except NotFoundError:
            return False
        return True
