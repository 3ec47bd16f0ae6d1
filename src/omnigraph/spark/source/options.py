"""Parsing and validation of the options of ``spark.read.format("omnigraph")`` and of its writer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

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
    "actor", "message", "idempotency_key", "policy", "checks", "reject_to",
)  # fmt: skip
_ALIASES = {"path": "store", "versionasof": "at", "timestampasof": "at"}
"""Names that readers of other table formats know, in lower case, as Spark compares them."""
STORAGE = "storage."
_OF_SPARK = frozenset(
    {"checkpointlocation", "queryname", "outputmode", "provider", "owner", "location", "external", "comment"}
)
"""Options of Spark itself, and properties of a table in its catalog: Spark passes both to the source."""
_OF_SPARK_PREFIXES = ("option.", "spark.", "__")
_NO_TYPE = 'name a node or edge type: .option("type", ...)'


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Parsed options. ``storage`` holds the object-store options, given as ``storage.*``."""

    store: str
    type_name: str | None = None
    """None for the only type of the graph."""
    kind: str | None = None
    branch: str | None = None
    at: str | None = None
    columns: tuple[str, ...] | None = None
    where: str | None = None
    load: str = "append"
    durability: str = "fsync"
    query: str | None = None
    policy: str | None = None
    reject_to: str | None = None
    commit_options: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)
    of_table: Mapping[str, str] = field(default_factory=dict)
    """The options that a table in Spark's catalog keeps: those given to it, with the store."""

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
        if self.type_name is None:
            return self._only_entity(catalog)
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

    def _only_entity(self, catalog: Catalog) -> Entity:
        known: list[Entity] = [*catalog.nodes.values(), *catalog.edges.values()]
        if len(known) != 1:
            types = ", ".join(entity.name for entity in known) or "none"
            raise UsageError("the option 'type' is missing", hint=f"{_NO_TYPE}; the types are {types}")
        return known[0]

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


def known_options(given: Mapping[str, str], names: Sequence[str], what: str = "") -> dict[str, str]:
    """The options without those of Spark, with names in lower case and without aliases; raises UsageError.

    ``what`` names the kind of frame in messages.
    """
    found: dict[str, str] = {}
    said: dict[str, str] = {}
    for name, value in given.items():
        known = _ALIASES.get(name.lower(), name.lower())
        if known in names or known.startswith(STORAGE):
            if found.get(known, value) != value:
                raise UsageError(f"the options {said[known]!r} and {name!r} differ", hint="give one of them")
            found[known], said[known] = value, name
        elif name.lower() == "paths":
            raise UsageError("a frame reads one graph, but several paths are given", hint="union two frames")
        elif not _is_of_spark(name.lower()):
            hint = did_you_mean(name, list(names)) or f"options are {', '.join(names)} and storage.*"
            raise UsageError(f"there is no option {name!r}{what}", hint=hint)
    return found


def _is_of_spark(name: str) -> bool:
    return name in _OF_SPARK or name.startswith(_OF_SPARK_PREFIXES)


def parse_options(given: Mapping[str, str], defaults: Mapping[str, str] | None = None) -> SourceOptions:
    """Parse the options that Spark passes, with case-insensitive names, over the defaults of the session."""
    own = known_options(given, _NAMES)
    options = {**known_options(defaults or {}, _NAMES), **own}
    store = checked_store(options)
    _check_checks(options.get("checks", "auto"))
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
        options.get("type"),
        options.get("kind"),
        options.get("branch"),
        options.get("at"),
        None if columns is None else tuple(name.strip() for name in columns.split(",")),
        options.get("where"),
        options.get("load", "append"),
        options.get("durability", "fsync"),
        options.get("query"),
        options.get("policy"),
        _checked_file(options.get("reject_to")),
        {name: options[name] for name in ("actor", "message", "idempotency_key") if name in options},
        storage_options(options),
        {**own, "store": store},
    )


def _check_checks(given: str) -> None:
    """Refuse checks on the cluster: the process that Spark starts for the commit has no session."""
    if given == "cluster":
        raise UsageError(
            "the data source cannot run its checks on the cluster: Spark gives it no session",
            hint='use graph.load_spark(frame, type_name=..., checks="cluster"), or checks=auto',
        )
    if given not in ("auto", "driver"):
        raise UsageError(f"unknown value for checks: {given!r}", hint="expected one of auto, driver")


def _checked_file(reject_to: str | None) -> str | None:
    if reject_to is not None and not os.path.isabs(reject_to):
        raise UsageError(
            f"the file for rejected rows {reject_to!r} is a relative path",
            hint="use an absolute path: the driver's workers have other working directories",
        )
    return reject_to


def storage_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of the object store, without their prefix."""
    return {name[len(STORAGE) :]: value for name, value in options.items() if name.startswith(STORAGE)}


def checked_store(options: Mapping[str, str]) -> str:
    """The location of the graph, in a form that is valid on every worker."""
    if "store" not in options:
        raise UsageError(
            "the option 'store' is missing",
            hint='name the graph: .load(path), .option("store", ...), or the setting spark.omnigraph.store',
        )
    store = options["store"]
    if store.startswith("file:"):
        # LOCATION of a table becomes a URI of the file system.
        store = unquote("/" + store.removeprefix("file:").lstrip("/"))
    if "://" not in store and not os.path.isabs(store):
        raise UsageError(
            f"the store {store!r} is a relative path",
            hint="use an absolute path: workers have other working directories",
        )
    return store
