"""The checks over several rows of a Spark load, as jobs over facts.

They find what ``rows.validate`` finds for small input, in the same order and with the same words; tests hold the two
against each other. Input without mistakes takes one job for ids and ends of edges, and one for unique values and
cardinality where a schema has those; samples are looked for only where something was counted.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from omnigraph.rows.arrow_types import ID, SRC
from omnigraph.rows.limits import SAMPLES_PER_KIND_MAX
from omnigraph.rows.validate import cardinality_violation, endpoint_violation, unique_columns, unique_violation
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.catalog import EdgeType
from omnigraph.spark.facts import SPACES_PER_TABLE, Emission, KeyScan, Role, facts
from omnigraph.spark.groups import Buckets, Grouping, blocks, count_facts, grouped, packed
from omnigraph.spark.input import InputTable, LoadInput
from omnigraph.spark.spaces import Reference, Spaces
from omnigraph.storage.store import Store
from omnigraph.write.load import LoadMode, duplicate_violation, exists_already, is_keyed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


IDS = Grouping(
    f"""
    SELECT space, key,
        count(*) FILTER (role = {Role.INPUT:d}) AS inputs,
        max("row") FILTER (role = {Role.INPUT:d}) AS last,
        max("row") FILTER (role = {Role.COMMITTED:d}) AS committed,
        CAST(coalesce(sum(times) FILTER (role >= {Role.REFERENCE:d}), 0) AS BIGINT) AS refs
    FROM facts GROUP BY space, key
    HAVING inputs > 1 OR (inputs > 0 AND committed IS NOT NULL) OR (inputs = 0 AND committed IS NULL)
    """,
    "space int, key string, inputs long, last long, committed long, refs long",
)


def tuples_of(spaces: Spaces) -> Grouping:
    """Values that are held twice; and sources that the input touches, with too few or too many edges.

    A source that vanishes is not judged.
    """
    bounds = {spaces.sources(edge.table_key): (edge.ir.card_min, edge.ir.card_max) for edge in spaces.bounded_edges()}
    beyond = " OR ".join(
        f"(space = {space} AND (edges < {low}{'' if high is None else f' OR edges > {high}'}))"
        for space, (low, high) in bounds.items()
    )
    is_source = f"space % {SPACES_PER_TABLE} = {SPACES_PER_TABLE - 1}"
    has_vanished = "old_nodes > 0 AND new_nodes = 0"
    is_touched = "inputs > 0 OR replaced > 0"
    counts = ", ".join(
        f"count(*) FILTER (role = {role:d}) AS {name}"
        for role, name in [
            (Role.INPUT, "inputs"),
            (Role.COMMITTED, "kept"),
            (Role.REPLACED, "replaced"),
            (Role.NEW_NODE, "new_nodes"),
            (Role.OLD_NODE, "old_nodes"),
        ]
    )
    statement = f"""
        SELECT space, key, inputs, first, kept, first_replaced FROM (
            SELECT space, key, {counts}, inputs + kept AS edges,
                min("row") FILTER (role = {Role.INPUT:d}) AS first,
                min("row") FILTER (role = {Role.REPLACED:d}) AS first_replaced
            FROM facts GROUP BY space, key)
        WHERE CASE WHEN {is_source}
            THEN edges > 0 AND ({is_touched}) AND NOT ({has_vanished}) AND ({beyond or "false"})
            ELSE inputs > 1 OR (inputs > 0 AND kept > 0) END
    """
    return Grouping(statement, "space int, key string, inputs long, first long, kept long, first_replaced long")


class IdCounts(NamedTuple):
    """In one space: rows of the input whose id a later one has, ids that are there, references that lead nowhere."""

    repeated: int = 0
    existing: int = 0
    missing: int = 0


@dataclass
class SparkChecks:
    """The input against one state of the graph. ``existing`` says how many committed rows have ids of the input."""

    spark: SparkSession
    store: Store
    input: LoadInput
    spaces: Spaces
    violations: Violations
    existing: Mapping[str, int] = field(default_factory=dict)

    def by_id(self) -> DataFrame:
        """Ids that are twice in the input, or there already, or missing.

        Per space and id: ``inputs``, the ``last`` row of the input, the ``committed`` row, ``refs``.
        """
        scans = self.spaces.id_scans()
        buckets = Buckets.for_facts(count_facts(scans))
        return grouped(blocks(self.spark, self.store, scans, buckets), buckets, IDS)

    def count_ids(self, ids: DataFrame) -> Mapping[int, IdCounts]:
        """The counts of each space."""
        from pyspark.sql import functions as f

        counted = ids.groupBy("space").agg(
            f.sum(f.greatest(f.col("inputs") - 1, f.lit(0))).alias("repeated"),
            f.count_if((f.col("inputs") > 0) & f.col("committed").isNotNull()).alias("existing"),
            f.sum(f.when(_is_missing(), f.col("refs")).otherwise(0)).alias("missing"),
        )
        found = {row.space: IdCounts(row.repeated, row.existing, row.missing) for row in counted.collect()}
        return defaultdict(IdCounts, found)

    # --- ids -------------------------------------------------------------------------------------------

    def settle_duplicates(self, ids: DataFrame, counts: Mapping[int, IdCounts]) -> bool:
        """Ids that are twice in the input: an error, or the last one wins; whether rows were set aside."""
        has_changed = False
        for key, table in sorted(self.input.tables.items()):
            repeated = counts[self.spaces.ids(key)].repeated
            if not repeated:
                continue
            if self.input.mode is not LoadMode.MERGE or is_keyed(table.entity):
                self._report_duplicates(table, repeated, ids)
            else:
                earlier = self._earlier(table, ids).select("row").orderBy("row")
                self.input.supersede(key, (row.row for row in earlier.toLocalIterator()))
                has_changed = True
        self.input.is_settled = True
        return has_changed

    def _earlier(self, table: InputTable, ids: DataFrame) -> DataFrame:
        """Rows of the input that are not the last ones of their id."""
        key = table.entity.table_key
        space = self.spaces.ids(key)
        given = self._facts([self.spaces.input_scan(key, Emission(space, Role.INPUT, (ID,)))])
        again = ids.where((ids.space == space) & (ids.inputs > 1)).select("key", "last")
        return given.join(again, "key").where("row <> last")

    def _report_duplicates(self, table: InputTable, count: int, ids: DataFrame) -> None:
        key = table.entity.table_key
        samples = _first(self._earlier(table, ids), "row")
        places = self.input.places(key, [row for sample in samples for row in (sample.row, sample.last)])
        found = (
            duplicate_violation(table.entity, sample.key, places[sample.row], places[sample.last]) for sample in samples
        )
        self.violations.add_group((ViolationCode.DUPLICATE_ID, key, None), count, found)

    def refuse_existing(self, ids: DataFrame) -> None:
        """An append brings nothing that is there."""
        from pyspark.sql import functions as f

        for key, table in sorted(self.input.tables.items()):
            count = self.existing.get(key, 0)
            if count:
                is_there = (ids.space == self.spaces.ids(key)) & (ids.inputs > 0) & ids.committed.isNotNull()
                first = ids.where(is_there).orderBy(f.col("key")).limit(1).collect()[0]
                raise exists_already(table.entity, first.key, count, self.input.places(key, [first.last])[first.last])

    # --- everything else -------------------------------------------------------------------------------

    def run(self, ids: DataFrame, counts: Mapping[int, IdCounts]) -> None:
        """Every other check, in the order of ``rows.validate``."""
        missing = {key for key in self.spaces.state.tables if counts[self.spaces.ids(key)].missing}
        tuples = self._by_tuple(ids)
        counted = self._count_tuples(tuples) if tuples is not None else {}
        for key in sorted(self.input.tables, key=lambda key: (key.startswith("edge:"), key)):
            table = self.input.tables[key]
            for number, columns in enumerate(unique_columns(table.entity)):
                space = self.spaces.unique(key, number)
                if tuples is not None and space in counted:
                    self._report_unique_in_input(table, columns, space, counted[space].repeated, tuples)
                    self._report_unique_in_graph(table, columns, space, counted[space].held, tuples, ids)
            for reference in self.spaces.references:
                if reference.edge.table_key == key and reference.node_key in missing:
                    self._report_missing(reference, ids)
        for reference in self.spaces.references:
            if reference.is_kept and reference.node_key in missing:
                self._report_missing(reference, ids)
        for edge in self.spaces.bounded_edges():
            space = self.spaces.sources(edge.table_key)
            if tuples is not None and space in counted and counted[space].beyond:
                self._report_cardinality(edge, space, counted[space].beyond, tuples)

    def _report_missing(self, reference: Reference, ids: DataFrame) -> None:
        edge, end = reference.edge, reference.end
        space = self.spaces.ids(reference.node_key)
        emission = Emission(space, reference.role, (end,))
        make = self.spaces.committed_scan if reference.is_kept else self.spaces.input_scan
        given = self._facts([make(edge.table_key, emission, with_ids=True)])
        absent = ids.where((ids.space == space) & _is_missing() & (ids.refs > 0)).select("key")
        dangling = given.join(absent, "key")
        count = dangling.count()
        if not count:
            return
        samples = _first(dangling, "row")
        places = {} if reference.is_kept else self.input.places(edge.table_key, [sample.row for sample in samples])
        found = (endpoint_violation(edge, end, sample.id, sample.key, places.get(sample.row)) for sample in samples)
        self.violations.add_group((ViolationCode.ENDPOINT, edge.table_key, end), count, found)

    # --- unique values and cardinality -----------------------------------------------------------------

    def _by_tuple(self, ids: DataFrame) -> DataFrame | None:
        """Values that are held twice, and sources with too few or too many edges; None if no constraint asks."""
        given, held = self.spaces.input_tuple_scans(), self.spaces.committed_tuple_scans()
        if not given:
            return None
        buckets = Buckets.for_facts(count_facts([*given, *held]))
        if held and any(self.existing.values()):
            told = packed(_told_replaced(self._facts(held), ids), buckets)
            facts = blocks(self.spark, self.store, given, buckets).unionByName(told)
        else:
            facts = blocks(self.spark, self.store, [*given, *held], buckets)
        return grouped(facts, buckets, tuples_of(self.spaces))

    def _count_tuples(self, tuples: DataFrame) -> dict[int, Any]:
        from pyspark.sql import functions as f

        counted = tuples.groupBy("space").agg(
            f.sum(f.greatest(f.col("inputs") - 1, f.lit(0))).alias("repeated"),
            f.sum(f.when(f.col("inputs") > 0, f.col("kept")).otherwise(0)).alias("held"),
            f.count("*").alias("beyond"),
        )
        return {row.space: row for row in counted.collect()}

    def _report_cardinality(self, edge: EdgeType, space: int, count: int, tuples: DataFrame) -> None:
        from pyspark.sql import functions as f

        wrong = tuples.where(tuples.space == space)
        samples = _first(wrong, f.col("inputs") == 0, f.coalesce(f.col("first"), f.col("first_replaced")))
        found = (cardinality_violation(edge, sample.key, sample.inputs + sample.kept) for sample in samples)
        self.violations.add_group((ViolationCode.CARDINALITY, edge.table_key, SRC), count, found)

    def _report_unique_in_input(
        self, table: InputTable, columns: Sequence[str], space: int, count: int, tuples: DataFrame
    ) -> None:
        if not count:
            return
        given = self._input_values(table, columns, space)
        shared = tuples.where((tuples.space == space) & (tuples.inputs > 1)).select("key", "first")
        samples = _first(given.join(shared, "key").where("row <> first"), "row")
        holders = self._ids_at(given, [sample.first for sample in samples])
        found = [(holders[sample.first], sample.id, sample.row, sample.key) for sample in samples]
        self._add_unique(table, columns, count, found)

    def _report_unique_in_graph(
        self, table: InputTable, columns: Sequence[str], space: int, count: int, tuples: DataFrame, ids: DataFrame
    ) -> None:
        from pyspark.sql import functions as f

        if not count:
            return
        emission = Emission(space, Role.COMMITTED, tuple(columns))
        held = self._facts([self.spaces.committed_scan(table.entity.table_key, emission, with_ids=True)])
        wanted = tuples.where((tuples.space == space) & (tuples.inputs > 0)).select("key", "first")
        kept = _told_replaced(held, ids).where(f.col("role") == int(Role.COMMITTED))
        samples = _first(kept.join(wanted, "key"), "row")
        ours = self._ids_at(self._input_values(table, columns, space), [sample.first for sample in samples])
        found = [(sample.id, ours[sample.first], sample.first, sample.key) for sample in samples]
        self._add_unique(table, columns, count, found)

    def _input_values(self, table: InputTable, columns: Sequence[str], space: int) -> DataFrame:
        emission = Emission(space, Role.INPUT, tuple(columns))
        return self._facts([self.spaces.input_scan(table.entity.table_key, emission, with_ids=True)])

    def _ids_at(self, given: DataFrame, rows: Sequence[int]) -> dict[int, str]:
        return {found.row: found.id for found in given.where(given.row.isin(list(rows))).collect()}

    def _add_unique(
        self, table: InputTable, columns: Sequence[str], count: int, found: Sequence[tuple[str, str, int, str]]
    ) -> None:
        key = table.entity.table_key
        places = self.input.places(key, [row for _, _, row, _ in found])

        def each() -> Iterable[Violation]:
            for first, second, row, value in found:
                texts = (value,) if len(columns) == 1 else tuple(json.loads(value))
                yield unique_violation(table.entity, tuple(columns), texts, (first, second), places[row])

        self.violations.add_group((ViolationCode.UNIQUE, key, columns[0]), count, each())

    def _facts(self, scans: Sequence[KeyScan]) -> DataFrame:
        return facts(self.spark, self.store, scans)


def _is_missing() -> Column:
    from pyspark.sql import functions as f

    return (f.col("inputs") == 0) & f.col("committed").isNull()


def _told_replaced(held: DataFrame, ids: DataFrame) -> DataFrame:
    """Facts of committed rows, those apart that the input replaces: it has a row of the same id."""
    from pyspark.sql import functions as f

    replaced = ids.where((ids.inputs > 0) & ids.committed.isNotNull()).select(
        f.col("space").alias("owner"), f.col("committed").alias("row"), f.lit(int(Role.REPLACED)).alias("told")
    )
    owned = held.withColumn("owner", f.col("space") - f.col("space") % SPACES_PER_TABLE)
    joined = owned.join(replaced, ["owner", "row"], "left")
    return joined.select("space", f.coalesce(f.col("told"), f.col("role")).alias("role"), "key", "row", "id")


def _first(frame: DataFrame, *order: Any) -> list[Any]:
    """As many rows as are shown of one kind of violation, in that order."""
    return list(frame.orderBy(*order).limit(SAMPLES_PER_KIND_MAX).collect())
