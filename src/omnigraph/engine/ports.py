"""Ports: what the engine calls in rooms above it, as typed protocols.

Spark, policies and the embedding providers stand above the engine and are optional, so the engine cannot import them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from omnigraph.engine.load_options import LoadOptions
    from omnigraph.engine.previews import WritePreview
    from omnigraph.engine.results import LoadResult
    from omnigraph.engine.snapshot import Snapshot
    from omnigraph.exec.analytics.chosen import ChosenEdges
    from omnigraph.exec.analytics.forms import Form
    from omnigraph.exec.analytics.nodes import NodeSpace
    from omnigraph.exec.analytics.steps import Steps
    from omnigraph.exec.budget import Budget
    from omnigraph.exec.graph_view import GraphView
    from omnigraph.exec.resolve.rules import ResolveRules
    from omnigraph.exec.shape.result_rows import ResultRows
    from omnigraph.query.ir import QueryIR
    from omnigraph.schema.catalog import NodeType
    from omnigraph.storage.upkeep.work import Workers
    from omnigraph.write.documents.parts import DocumentPart, DocumentWork, WorkedPart
    from omnigraph.write.merge.images import Sides
    from omnigraph.write.merge.parts import PartedMerge
    from omnigraph.write.resolve.groups import Finder
    from omnigraph.write.upkeep.cleanup import Sweeper

Session = Any
"""A Spark session, which this package cannot name; None stands for the session of this machine."""


Graph_contra = TypeVar("Graph_contra", contravariant=True)
"""The graph, which stands above this module."""


class QueryExecutor(Protocol[Graph_contra]):
    """Runs a bound query over a snapshot."""

    def query_frame(self, query: QueryIR, view: GraphView, spark: Session) -> Any:
        """A lazy DataFrame of the session."""
        ...

    def query_rows(self, query: QueryIR, view: GraphView, budget: Budget, spark: Session) -> ResultRows:
        """The result, collected within the budget."""
        ...

    def views(
        self, graph: Graph_contra, branch: str | None, *, at: str | datetime | None, prefix: str, spark: Session
    ) -> dict[str, str]:
        """Temporary views over the tables of a commit: view name -> table."""
        ...

    def sql_frame(
        self, graph: Graph_contra, text: str, branch: str | None, *, at: str | datetime | None, spark: Session
    ) -> Any:
        """The lazy result of a query in Spark SQL over the tables of a commit."""
        ...

    def tables(
        self, graph: Graph_contra, database: str, branch: str | None, *, at: str | datetime | None, spark: Session
    ) -> dict[str, str]:
        """Tables of a database in Spark's catalog: name -> table."""
        ...


class BulkLoader(Protocol[Graph_contra]):
    """Loads files and frames as one commit."""

    def load(self, graph: Graph_contra, sources: Any, options: LoadOptions) -> LoadResult: ...

    def load_preview(self, graph: Graph_contra, sources: Any, options: LoadOptions) -> WritePreview: ...


class TableMerger(Protocol):
    """Merges large tables until it is closed."""

    def merge(self, tables: Sequence[Sides]) -> list[PartedMerge]: ...

    def close(self) -> None: ...


class Maintainer(Protocol):
    """Runs the tasks of merges, maintenance and garbage collection."""

    def merger(self, spark: Session) -> TableMerger: ...

    def workers(self, root: str, spark: Session) -> Workers: ...

    def sweeper(self, spark: Session) -> Sweeper: ...


class Analyst(Protocol):
    """Runs the rounds of graph algorithms."""

    def spark_steps(
        self,
        snapshot: Snapshot,
        space: NodeSpace,
        chosen: ChosenEdges,
        form: Form,
        spark: Session,
        partitions: int | None,
        scratch: str | None,
    ) -> AbstractContextManager[Steps]: ...


class Matchmaker(Protocol):
    """Finds matching entities."""

    def match_finder(
        self, snapshot: Snapshot, node: NodeType, rules: ResolveRules, spark: Session, partitions: int | None
    ) -> AbstractContextManager[Finder]: ...


class DocumentWorkers(Protocol):
    """Runs parts of the document pipeline."""

    def run_documents(
        self, root: str, work: DocumentWork, parts: Sequence[DocumentPart], spark: Session
    ) -> list[WorkedPart]: ...

    def parallelism(self, spark: Session) -> int: ...


class Cluster(
    QueryExecutor[Graph_contra],
    BulkLoader[Graph_contra],
    Maintainer,
    Analyst,
    Matchmaker,
    DocumentWorkers,
    Protocol[Graph_contra],
):
    """Everything that Spark does for the engine. The module ``omnigraph.spark.port`` implements it."""
