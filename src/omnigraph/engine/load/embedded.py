"""Loads in this process, and their rejected rows."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from typing import Protocol

from omnigraph.engine.load.run import Loader, embedded
from omnigraph.engine.load.sources import Loadable
from omnigraph.engine.load_options import LoadOptions
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.results import LoadResult
from omnigraph.write.load.reject.file import RejectFile, require_new
from omnigraph.write.load.reject.rows import Rejection


class LoadingGraph(Protocol):
    """The part of a graph that runs loaders; the graph stands above this module."""

    def earlier_load(self, options: LoadOptions) -> LoadResult | None: ...

    def load_with(self, loader: Loader, options: LoadOptions) -> LoadResult: ...

    def preview_with(self, loader: Loader, options: LoadOptions) -> WritePreview: ...


def run_load(graph: LoadingGraph, data: Loadable, options: LoadOptions) -> LoadResult:
    """Load as one atomic commit; with ``reject_to``, without the invalid rows."""
    options.refuse_spark_only()
    earlier = graph.earlier_load(options)
    if earlier is not None:
        return earlier
    if options.reject_to is None:
        return graph.load_with(embedded(data, options), options)
    file = RejectFile(os.fspath(options.reject_to))
    require_new(file.path)
    rejection = Rejection(file)
    with file.kept(), closing(rejection.found):
        result = graph.load_with(embedded(data, options, rejection), options)
    # A repeated load made no commit of its own, so the file would describe nothing.
    if result.repeated:
        file.discard()
    return result if result.repeated else replace(result, rejected=rejection.count)


def run_preview(graph: LoadingGraph, data: Loadable, options: LoadOptions) -> WritePreview:
    """Preview a load; with ``reject_to``, with the rows that it would reject. No file is written."""
    options.refuse_spark_only()
    if options.reject_to is None:
        return graph.preview_with(embedded(data, options), options)
    rejection = Rejection(None)
    with closing(rejection.found):
        seen = graph.preview_with(embedded(data, options, rejection), options)
    return replace(seen, rejected=rejection.count, rejections=rejection.shown)
