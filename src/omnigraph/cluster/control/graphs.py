"""The graphs of a cluster: observed, created, migrated and deleted at the places that follow from their ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from omnigraph.cluster.resources import content_digest, graph_root
from omnigraph.engine.graph import Graph, create, open_graph
from omnigraph.engine.schema.creation import remove_graph
from omnigraph.engine.schema.result import SchemaResult
from omnigraph.errors import NotAGraphError, OmnigraphError
from omnigraph.schema.migration import MigrationPlan
from omnigraph.storage.tables.store import Store

OPERATION_KEY: Final = "cluster_operation"
"""The provenance entry of commits that a cluster makes."""


@dataclass(frozen=True, slots=True)
class LiveGraph:
    """A graph as it is. ``is_new`` holds until its first write."""

    graph: Graph
    schema: str = field(repr=False)
    head: str
    counter: int
    is_new: bool

    @property
    def digest(self) -> str:
        """The digest of its schema's text."""
        return content_digest(self.schema.encode())

    def means(self, text: str) -> bool:
        """True if a text declares the schema that the graph has."""
        return self.schema == text or not self.graph.plan_schema(text).steps

    def observed(self) -> dict[str, object]:
        """The facts about the graph that the state remembers."""
        return {
            "schema_digest": self.digest,
            "graph_commit_id": self.head,
            "graph_manifest_version": self.counter,
        }


@dataclass(frozen=True, slots=True)
class Graphs:
    """All graphs below the root of a cluster's storage."""

    root: str
    storage_options: Mapping[str, str] = field(default_factory=dict)

    def uri(self, name: str) -> str:
        return graph_root(self.root, name)

    def find(self, name: str) -> LiveGraph | None:
        """A graph, or None if there is none; raises an error of the tree if it cannot be read."""
        try:
            graph = open_graph(self.uri(name), storage_options=self.storage_options)
            newest = list(islice(graph.commits(limit=2), 2))
        except NotAGraphError:
            return None
        return LiveGraph(graph, graph.schema_text(), newest[0].id, newest[0].manifest.counter, len(newest) == 1)

    def create(self, name: str, schema: str, actor: str | None) -> None:
        """Create a graph. A creation that was killed is completed, if it had the same schema."""
        create(self.uri(name), schema, storage_options=self.storage_options, actor=actor)

    def migrate(self, graph: Graph, schema: str, actor: str | None, operation: str, address: str) -> SchemaResult:
        """Give ``main`` another schema, once per operation: a repeated call finds the commit of the first."""
        return graph.apply_schema(
            schema,
            actor=actor,
            message=f"apply {address}",
            idempotency_key=f"{operation}:{address}",
            provenance={OPERATION_KEY: operation},
        )

    def delete(self, name: str) -> None:
        """Delete a graph with everything below its root. A deletion that was killed can be repeated."""
        remove_graph(Store(self.uri(name), self.storage_options))

    def preview(self, name: str, schema: str) -> MigrationPlan | str:
        """The steps of a migration, or the reason why they cannot be found."""
        try:
            live = self.find(name)
            return f"there is no graph at {self.uri(name)}" if live is None else live.graph.plan_schema(schema)
        except OmnigraphError as error:
            return error.message
