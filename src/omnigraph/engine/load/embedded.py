"""Loads in this process, and their rejected rows."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace

from omnigraph.core.ports import FindEmbedder
from omnigraph.engine.load import run
from omnigraph.engine.load.sources import Loadable
from omnigraph.engine.load_options import LoadOptions
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.results import LoadResult
from omnigraph.engine.telemetry import logged
from omnigraph.write.context import WriteContext
from omnigraph.write.guard import ChangeGuard
from omnigraph.write.load.reject.file import RejectFile, require_new
from omnigraph.write.load.reject.rows import Rejection


@dataclass(frozen=True)
class Loading:
    """Loads of one graph in this process; every entity that they touch passes the ``guard``."""

    context: WriteContext
    uri: str
    find_embedder: FindEmbedder
    guard: ChangeGuard | None = None

    def earlier(self, options: LoadOptions) -> LoadResult | None:
        return run.earlier_load(self.context, options)

    @logged("load")
    def load(self, data: Loadable, options: LoadOptions, rejection: Rejection | None = None) -> LoadResult:
        loader = run.embedded(data, options, rejection, self.guard)
        return run.load(self.context, loader, options, self.find_embedder)

    @logged("load_preview")
    def preview(self, data: Loadable, options: LoadOptions, rejection: Rejection | None = None) -> WritePreview:
        loader = run.embedded(data, options, rejection, self.guard)
        return run.preview(self.context, loader, options, self.find_embedder)


def run_load(loading: Loading, data: Loadable, options: LoadOptions) -> LoadResult:
    """Load as one atomic commit; with ``reject_to``, without the invalid rows."""
    options.refuse_spark_only()
    earlier = loading.earlier(options)
    if earlier is not None:
        return earlier
    if options.reject_to is None:
        return loading.load(data, options)
    file = RejectFile(os.fspath(options.reject_to))
    require_new(file.path)
    rejection = Rejection(file)
    with file.kept(), closing(rejection.found):
        result = loading.load(data, options, rejection)
    # A repeated load made no commit of its own, so the file would describe nothing.
    if result.repeated:
        file.discard()
    return result if result.repeated else replace(result, rejected=rejection.count)


def run_preview(loading: Loading, data: Loadable, options: LoadOptions) -> WritePreview:
    """Preview a load; with ``reject_to``, with the rows that it would reject. No file is written."""
    options.refuse_spark_only()
    if options.reject_to is None:
        return loading.preview(data, options)
    rejection = Rejection(None)
    with closing(rejection.found):
        seen = loading.preview(data, options, rejection)
    return replace(seen, rejected=rejection.count, rejections=rejection.shown)
