"""One input through either path of a load, in small batches and small fragments, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from omnigraph.core.commit import CommitKind
from omnigraph.engine.graph import Graph
from omnigraph.errors import KeyConflictError, ViolationError
from omnigraph.manifest import branches
from omnigraph.rows.read.json import read_objects
from omnigraph.rows.violations import Violations
from omnigraph.write.context import WriteOptions
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.rows import load_rows
from tests.support.tuning import retuned

Record = Mapping[str, Any]


THROUGH_DISK = {"buffered_rows_max": 0, "fragment_bytes": 1, "grouped_rows": 2}
"""Fields of a tuning with which every load is a large one."""


def through_disk(graph: Graph, **fields: int) -> AbstractContextManager[None]:
    """Every load of a handle is a large one, for a while."""
    return retuned(graph, **{**THROUGH_DISK, **fields})


def load_sources(
    graph: Graph, branch: str, sources: Mapping[str, Sequence[Record]], mode: LoadMode, batch_rows: int = 2
) -> dict[str, int]:
    """Load records in batches of a few rows, so that small input makes many fragments."""
    context = graph._context
    ref = branches.find_ref(graph._manifests, branch)
    catalog = graph.catalog(branch)
    violations = Violations()

    def rows() -> Iterator[Any]:
        for name, records in sources.items():
            for typed in read_objects(
                records,
                catalog=catalog,
                source=name,
                mint_ids=graph._context.ids.new_ids,
                violations=violations,
                batch_rows=batch_rows,
                omissions=mode.omissions,
            ):
                yield name, typed

    options = WriteOptions()
    info = options.info(context, CommitKind.LOAD)
    loaded = load_rows(context, ref.incarnation, rows(), mode, violations, info, options)
    return dict(loaded.counts)


def outcome(graph: Graph, branch: str, sources: Mapping[str, Sequence[Record]], mode: LoadMode) -> Any:
    """Everything a caller can see: the graph and the counts, or the error with its counts and samples."""
    try:
        counts = load_sources(graph, branch, sources, mode)
    except ViolationError as error:
        return str(error), error.total, error.counts, error.samples
    except KeyConflictError as error:
        return str(error), dict(error.facts)
    commit = next(graph.commits(branch))
    tables = [(change.key, change.inserted, change.updated, change.deleted) for change in commit.tables]
    return sorted(counts.items()), sorted(tables), lines(graph, branch)


def lines(graph: Graph, branch: str) -> list[bytes]:
    return sorted(b"".join(graph.export(branch)).splitlines())
