"""Choice of the engine of a resolution: this process or Spark, by name or by the number of entities."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from omnigraph.engine import plugs
from omnigraph.engine.engine_choice import AUTO, BY_SPARK, EMBEDDED, check_engine, has_spark, spark_from
from omnigraph.engine.snapshot import Snapshot
from omnigraph.exec.resolve.keys import record_columns, records_of
from omnigraph.exec.resolve.rounds import LocalFinder
from omnigraph.exec.resolve.rules import ResolveRules
from omnigraph.schema.catalog import NodeType
from omnigraph.storage.tables.scan import scan
from omnigraph.write.resolve.groups import Finder

VARIABLE = "OMNIGRAPH_RESOLVE_SPARK_FROM"

SPARK_FROM_ENTITIES = 5_000_000
"""Entities of the type from which ``auto`` takes Spark: this process holds the compared properties of all of them."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine, its session, and the number of buckets of block keys on Spark."""

    name: str = AUTO
    spark: Any = None
    partitions: int | None = None

    def chosen(self, entities: int) -> str:
        """``embedded`` or ``spark`` for a number of entities."""
        if check_engine(self.name) != AUTO:
            return self.name
        is_large = entities >= spark_from(VARIABLE, SPARK_FROM_ENTITIES, "entities") and has_spark()
        return BY_SPARK if is_large else EMBEDDED


@contextmanager
def open_finder(snapshot: Snapshot, node: NodeType, rules: ResolveRules, engine: Engine) -> Iterator[Finder]:
    """The rounds of a resolution on the chosen engine."""
    pin = snapshot.state.tables[node.table_key]
    if engine.chosen(pin.rows) == BY_SPARK:
        with plugs.cluster().match_finder(snapshot, node, rules, engine.spark, engine.partitions) as finder:
            yield finder
        return
    records = records_of(scan(snapshot.store, pin, record_columns(rules)), node, rules)
    yield LocalFinder(records, node, rules)
