"""Parsing and validation of the options of ``spark.read.format("omnigraph")`` and of its writer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.core.scalars import Scalar
from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.graph import Graph, open_graph
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import PropertyType
from omnigraph.spark.source.filters import read_filter
from omnigraph.storage.tables.filters import RowFilter

_NAMES = (
    "store", "type", "kind", "branch", "at", "columns", "where", "load", "durability", "query",
    "actor", "message", "idempotency_key", "policy",
)  # fmt: skip
STORAGE = "storage."
_OF_SPARK = ("checkpointlocation",)
"""Options of Spark itself that it also passes to the source."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Parsed options. ``storage`` holds the object-store options, given as ``storage.*``."""

    store: str
    type_name: str
    kind: str | None = None
    branch: str | None = None
    at: str | None = None
    columns: tuple[str, ...] | None = None
    where: str | None = None
    load: str = "append"
    durability: str = "fsync"
    query: str | None = None
    policy: str | None = None
    commit_options: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)

    def graph(self) -> Graph:
        """Open the graph, as the actor if a policy decides."""
        actor = self.commit_options.get("actor")
        return open_graph(
            self.store, storage_options=self.storage, durability=self.durability, policy=self.policy, actor=actor
        )

    def snapshot(self) -> Snapshot:
        """The snapshot to read."""
        return self.graph().snapshot(self.branch, at=self.at)

    def entity(self, catalog: Catalog) -> Entity:
        """The type of that name. ``kind`` disambiguates a name that both a node and an edge type have."""
        named, _, name = self.type_name.rpartition(":")
        wanted = self.kind or named or None
        found: list[Entity] = [
            entity
            for kind, entity in (("node", catalog.node(name)), ("edge", catalog.edge(name)))
            if entity is not None and wanted in (None, kind)
        ]
        if not found:
            hint = did_you_mean(self.type_name, [*catalog.nodes, *catalog.edges])
            raise UsageError(f"there is no {self.kind or ''} type {self.type_name!r}".replace("  ", " "), hint=hint)
        if len(found) > 1:
            raise UsageError(
                f"{self.type_name!r} is both a node type and an edge type", hint='choose one: .option("kind", "node")'
            )
        return found[0]

    def chosen_columns(self, entity: Entity) -> tuple[str, ...] | None:
        """The value of the option ``columns``; raises UsageError for an unknown column."""
        known = table_schema(entity).names
        for name in self.columns or ():
            if name not in known:
                hint = did_you_mean(name, known)
                raise UsageError(f"{entity.name} has no column {name!r}", hint=hint)
        return self.columns

    def filter(self, entity: Entity) -> RowFilter | None:
        """The storage filter of the option ``where``; raises CompileError if it is no predicate over the columns."""
        if self.where is None:
            return None
        text = PropertyType(Scalar.STRING)
        properties = entity.properties
        columns = {name: properties[name].type if name in properties else text for name in table_schema(entity).names}
        return read_filter(self.where, columns)


def parse_options(given: Mapping[str, str]) -> SourceOptions:
    """Parse the options that Spark passes, with case-insensitive names."""
    for name in given:
        if name.lower() not in (*_NAMES, *_OF_SPARK) and not name.lower().startswith(STORAGE):
            hint = did_you_mean(name, list(_NAMES)) or f"options are {', '.join(_NAMES)} and storage.*"
            raise UsageError(f"there is no option {name!r}", hint=hint)
    options = {name.lower(): value for name, value in given.items()}
    store = checked_store(options)
    if "type" not in options:
        raise UsageError("the option 'type' is missing", hint='name a node or edge type: .option("type", ...)')
    if options.get("kind") not in (None, "node", "edge"):
        raise UsageError(f"unknown kind {options['kind']!r}", hint="use node or edge")
    if options.get("load", "append") not in ("append", "merge"):
        raise UsageError(
            f"unknown value for load: {options['load']!r}",
            hint='use append or merge; .mode("overwrite") replaces the type',
        )
    columns = options.get("columns")
    return SourceOptions(
        store,
        options["type"],
        options.get("kind"),
        options.get("branch"),
        options.get("at"),
        None if columns is None else tuple(name.strip() for name in columns.split(",")),
        options.get("where"),
        options.get("load", "append"),
        options.get("durability", "fsync"),
        options.get("query"),
        options.get("policy"),
        {name: options[name] for name in ("actor", "message", "idempotency_key") if name in options},
        {name[len(STORAGE) :]: value for name, value in options.items() if name.startswith(STORAGE)},
    )


def checked_store(options: Mapping[str, str]) -> str:
    """The location of the graph, in a form that is valid on every worker."""
    if "store" not in options:
        raise UsageError("the option 'store' is missing", hint='name the graph: .option("store", ...)')
    store = options["store"]
    if "://" not in store and not os.path.isabs(store):
        raise UsageError(
            f"the store {store!r} is a relative path",
            hint="use an absolute path: workers have other working directories",
        )
    return store
