"""Cross-row checks of a Spark load, as jobs over facts.

They report the same violations as ``rows.validate``, in the same order and with the same messages; tests compare the
two. Valid input takes one job for ids and ends of edges, and one for unique values and cardinality if the schema has
them. Samples of violations are searched only after a count has found some.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from omnigraph.rows.arrow_types import ID, SRC
from omnigraph.rows.cardinality import beyond_sql, cardinality_violation
from omnigraph.rows.ends.references import reference as node_reference
from omnigraph.rows.ends.violations import endpoint_violation
from omnigraph.rows.limits import SAMPLES_PER_KIND_MAX
from omnigraph.rows.validate import STRANDED_HINT, unique_columns, unique_violation
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import EdgeType
from omnigraph.spark.load.checks.facts import SPACES_PER_TABLE, Emission, FactRole, KeyScan, facts
from omnigraph.spark.load.checks.groups import Buckets, Grouping, blocks, count_facts, grouped, packed
from omnigraph.spark.load.checks.new_ids import tables_of_new_ids
from omnigraph.spark.load.checks.spaces import Reference, Spaces
from omnigraph.spark.load.input import InputTable, LoadInput
from omnigraph.write import limits
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.plan import duplicate_violation, exists_already, exists_violation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


IDS = Grouping(
    f"""
    SELECT space, key,
        count(*) FILTER (role = {FactRole.INPUT:d}) AS inputs,
        max("row") FILTER (role = {FactRole.INPUT:d}) AS last,
        max("row") FILTER (role = {FactRole.COMMITTED:d}) AS committed,
        CAST(coalesce(sum(times) FILTER (role >= {FactRole.REFERENCE:d}), 0) AS BIGINT) AS refs
    FROM facts GROUP BY space, key
    HAVING inputs > 1 OR (inputs > 0 AND committed IS NOT NULL) OR (inputs = 0 AND committed IS NULL)
    """,
    "space int, key string, inputs long, last long, committed long, refs long",
)


def tuples_of(spaces: Spaces) -> Grouping:
    """Duplicate unique values, and sources touched by the input with too few or too many edges.

    A source whose node the load deletes is not checked. A source that only loses its edges is.
    """
    beyond = " OR ".join(
        f"(space = {spaces.sources(edge.table_key)} AND {beyond_sql(edge, 'edges')})" for edge in spaces.bounded_edges()
    )
    is_source = f"space % {SPACES_PER_TABLE} = {SPACES_PER_TABLE - 1}"
    has_vanished = "old_nodes > 0 AND new_nodes = 0"
    is_touched = "inputs > 0 OR replaced > 0"
    counts = ", ".join(
        f"count(*) FILTER (role = {role:d}) AS {name}"
        for role, name in [
            (FactRole.INPUT, "inputs"),
            (FactRole.COMMITTED, "kept"),
            (FactRole.REPLACED, "replaced"),
            (FactRole.NEW_NODE, "new_nodes"),
            (FactRole.OLD_NODE, "old_nodes"),
        ]
    )
    statement = f"""
        SELECT space, key, inputs, first, kept, first_replaced FROM (
            SELECT space, key, {counts}, inputs + kept AS edges,
                min("row") FILTER (role = {FactRole.INPUT:d}) AS first,
                min("row") FILTER (role = {FactRole.REPLACED:d}) AS first_replaced
            FROM facts GROUP BY space, key)
        WHERE CASE WHEN {is_source}
            THEN ({is_touched}) AND NOT ({has_vanished}) AND ({beyond or "false"})
            ELSE inputs > 1 OR (inputs > 0 AND kept > 0) END
    """
    return Grouping(statement, "space int, key string, inputs long, first long, kept long, first_replaced long")


class IdCounts(NamedTuple):
    """Counts of one space: input rows with a later duplicate, ids that exist in the graph, dangling references."""

    repeated: int = 0
    existing: int = 0
    missing: int = 0


@dataclass
class SparkChecks:
    """Checks of the current input against one state of the graph. The constructor groups the ids."""

    spark: SparkSession
    input: LoadInput
    spaces: Spaces
    violations: Violations
    samples_max: int = SAMPLES_PER_KIND_MAX
    """Maximum samples per kind of violation."""
    ids: DataFrame = field(init=False)
    """Ids that are duplicate in the input, exist in the graph, or are missing.

    Per space and id: ``inputs``, the ``last`` input row, the ``committed`` row, ``refs``. Persisted, because every
    violation reads them again; the creator of the checks unpersists them.
    """
    counts: Mapping[int, IdCounts] = field(init=False)

    def __post_init__(self) -> None:
        scans = self.spaces.id_scans(tables_of_new_ids(self.spark, self.input.store, self.spaces))
        buckets = Buckets.for_facts(count_facts(scans), self.input.store.tuning.grouped_facts)
        self.ids = grouped(blocks(self.spark, self.input.store, scans, buckets), buckets, IDS).persist()
        self.counts = self._count_ids()

    def places(self, key: str, rows: Sequence[int]) -> Mapping[int, Place]:
        """Places of input rows in violations, by address."""
        return self.input.places(key, rows)

    def existing(self, key: str) -> int:
        """Number of committed rows of a table with ids of the input."""
        return self.counts[self.spaces.ids(key)].existing

    def _count_ids(self) -> Mapping[int, IdCounts]:
        from pyspark.sql import functions as f

        counted = self.ids.groupBy("space").agg(
            f.sum(f.greatest(f.col("inputs") - 1, f.lit(0))).alias("repeated"),
            f.count_if((f.col("inputs") > 0) & f.col("committed").isNotNull()).alias("existing"),
            f.sum(f.when(_is_missing(), f.col("refs")).otherwise(0)).alias("missing"),
        )
        found = {row.space: IdCounts(row.repeated, row.existing, row.missing) for row in counted.collect()}
        return defaultdict(IdCounts, found)

    def settle_duplicates(self) -> bool:
        """Report duplicate ids of the input, or let the last row win; True if rows were superseded."""
        has_changed = False
        for key, table in sorted(self.input.tables.items()):
            repeated = self.counts[self.spaces.ids(key)].repeated
            if not repeated:
                continue
            if not self.input.mode.takes_repeats or table.entity.key:
                self._report_duplicates(table, repeated)
            else:
                earlier = self._earlier(table).select("row").orderBy("row")
                self.input.supersede(key, (row.row for row in earlier.toLocalIterator()))
                has_changed = True
        return has_changed

    def _earlier(self, table: InputTable) -> DataFrame:
        """Input rows with a later row of the same id."""
        key = table.entity.table_key
        space = self.spaces.ids(key)
        given = self._facts([self.spaces.input_scan(key, Emission(space, FactRole.INPUT, (ID,)))])
        again = self.ids.where(f"space = {space} and inputs > 1").select("key", "last")
        return given.join(again, "key").where("row <> last")

    def _report_duplicates(self, table: InputTable, count: int) -> None:
        key = table.entity.table_key
        samples = self._first(self._earlier(table), "row")
        places = self.places(key, [row for sample in samples for row in (sample.row, sample.last)])
        found = (
            duplicate_violation(table.entity, sample.key, places[sample.row], places[sample.last]) for sample in samples
        )
        self.violations.add_group((ViolationCode.DUPLICATE_ID, key, None), count, found)

    def refuse_existing(self, table: InputTable, count: int, there: DataFrame) -> None:
        """Fail an append because of ids that exist; among other violations they are violations too.

        ``there`` has each id with the ``last`` input row that has it.
        """
        key = table.entity.table_key
        if not self.violations.total:
            first = there.orderBy("key").limit(1).collect()[0]
            raise exists_already(table.entity, first.key, count, self.places(key, [first.last])[first.last])
        rows = self._first(there, "last")
        places = self.places(key, [row.last for row in rows])
        found = (exists_violation(table.entity, row.key, places[row.last]) for row in rows)
        self.violations.add_group((ViolationCode.DUPLICATE_ID, key, None), count, found)

    def run(self) -> None:
        """Run every check of an input without duplicate ids, in the order of ``rows.validate``."""
        missing = {key for key in self.spaces.state.tables if self.counts[self.spaces.ids(key)].missing}
        tuples = self._by_tuple()
        counted = self._count_tuples(tuples) if tuples is not None else {}
        for key in sorted(self.input.tables, key=lambda key: (key.startswith("edge:"), key)):
            table = self.input.tables[key]
            for number, columns in enumerate(unique_columns(table.entity)):
                space = self.spaces.unique(key, number)
                if tuples is not None and space in counted:
                    self._report_unique_in_input(table, columns, space, counted[space].repeated, tuples)
                    self._report_unique_in_graph(table, columns, space, counted[space].held, tuples)
            for reference in self.spaces.references:
                if reference.edge.table_key == key and reference.node_key in missing:
                    self._report_missing(reference)
        for reference in self.spaces.references:
            if reference.is_kept and reference.node_key in missing:
                self._report_missing(reference)
        for edge in self.spaces.bounded_edges():
            space = self.spaces.sources(edge.table_key)
            if tuples is not None and space in counted and counted[space].beyond:
                self._report_cardinality(edge, space, counted[space].beyond, tuples)
        for key, table in sorted(self.input.tables.items()):
            if self.input.mode is LoadMode.APPEND and self.existing(key):
                space = self.spaces.ids(key)
                there = self.ids.where(f"space = {space} and inputs > 0 and committed is not null")
                self.refuse_existing(table, self.existing(key), there)

    def _report_missing(self, reference: Reference) -> None:
        edge, end = reference.edge, reference.end
        space, emission = self.spaces.ids(reference.node_key), self.spaces.reference(reference)
        make = self.spaces.committed_scan if reference.is_kept else self.spaces.input_scan
        given = self._facts([make(edge.table_key, emission, with_ids=True)])
        absent = self.ids.where((self.ids.space == space) & _is_missing() & (self.ids.refs > 0)).select("key")
        dangling = given.join(absent, "key")
        count = dangling.count()
        if not count:
            return
        samples = self._first(dangling, "row")
        places = {} if reference.is_kept else self.places(edge.table_key, [sample.row for sample in samples])
        found = (
            endpoint_violation(
                edge,
                end,
                sample.id,
                node_reference(end, reference.node_name, sample.key),
                places.get(sample.row),
                is_stored=reference.is_kept,
            )
            for sample in samples
        )
        if reference.is_kept:
            self.violations.advise(STRANDED_HINT)
        self.violations.add_group((ViolationCode.ENDPOINT, edge.table_key, end.column), count, found)

    def _by_tuple(self) -> DataFrame | None:
        """Duplicate unique values, and sources with too few or too many edges; None without such constraints."""
        given, held = self.spaces.input_tuple_scans(), self.spaces.committed_tuple_scans()
        if not given:
            return None
        buckets = Buckets.for_facts(count_facts([*given, *held]), self.input.store.tuning.grouped_facts)
        if held and any(self.existing(key) for key in self.input.tables):
            # Replaced rows do not hold their old values any more; finding them needs a join of facts as Spark rows.
            kept = packed(self._with_replaced_role(self._facts(held)), buckets)
            facts = blocks(self.spark, self.input.store, given, buckets).unionByName(kept)
        else:
            facts = blocks(self.spark, self.input.store, [*given, *held], buckets)
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

        violating = tuples.where(tuples.space == space)
        samples = self._first(violating, f.col("inputs") == 0, f.coalesce(f.col("first"), f.col("first_replaced")))
        found = (cardinality_violation(edge, sample.key, sample.inputs + sample.kept) for sample in samples)
        self.violations.add_group((ViolationCode.CARDINALITY, edge.table_key, SRC), count, found)

    def _report_unique_in_input(
        self, table: InputTable, columns: Sequence[str], space: int, count: int, tuples: DataFrame
    ) -> None:
        if not count:
            return
        shared = tuples.where(f"space = {space} and inputs > 1").select("key", "first")
        given = self._input_values(table, columns, space).join(shared, "key")
        later = given.where("row <> first").join(_holders(given), "key")
        samples = self._first(later, "row")
        self._add_unique(table, columns, count, [(each.holder, each.id, each.row, each.key) for each in samples])

    def _report_unique_in_graph(
        self, table: InputTable, columns: Sequence[str], space: int, count: int, tuples: DataFrame
    ) -> None:
        if not count:
            return
        emission = Emission(space, FactRole.COMMITTED, tuple(columns))
        held = self._facts([self.spaces.committed_scan(table.entity.table_key, emission, with_ids=True)])
        wanted = tuples.where(f"space = {space} and inputs > 0").select("key", "first")
        input_holders = _holders(self._input_values(table, columns, space).join(wanted, "key"))
        kept = self._with_replaced_role(held).where(f"role = {FactRole.COMMITTED:d}")
        samples = self._first(kept.join(wanted, "key").join(input_holders, "key"), "row")
        self._add_unique(table, columns, count, [(each.id, each.holder, each.first, each.key) for each in samples])

    def _input_values(self, table: InputTable, columns: Sequence[str], space: int) -> DataFrame:
        emission = Emission(space, FactRole.INPUT, tuple(columns))
        return self._facts([self.spaces.input_scan(table.entity.table_key, emission, with_ids=True)])

    def _add_unique(
        self, table: InputTable, columns: Sequence[str], count: int, found: Sequence[tuple[str, str, int, str]]
    ) -> None:
        key = table.entity.table_key
        places = self.places(key, [row for _, _, row, _ in found])

        def each() -> Iterable[Violation]:
            for first, second, row, value in found:
                texts = (value,) if len(columns) == 1 else tuple(json.loads(value))
                yield unique_violation(table.entity, tuple(columns), texts, (first, second), places[row])

        self.violations.add_group((ViolationCode.UNIQUE, key, columns[0]), count, each())

    def _facts(self, scans: Sequence[KeyScan]) -> DataFrame:
        return facts(self.spark, self.input.store, scans)

    def _with_replaced_role(self, held: DataFrame) -> DataFrame:
        """Facts of committed rows, with the role REPLACED for rows whose id the input also has."""
        from pyspark.sql import functions as f

        replaced = self.ids.where("inputs > 0 and committed is not null").select(
            f.col("space").alias("owner"),
            f.col("committed").alias("row"),
            f.lit(int(FactRole.REPLACED)).alias("replaced_role"),
        )
        # The id space of the table that the space belongs to: the first of its SPACES_PER_TABLE.
        owned = held.withColumn("owner", f.col("space") - f.col("space") % SPACES_PER_TABLE)
        joined = owned.join(replaced, ["owner", "row"], "left")
        return joined.select(
            "space", f.coalesce(f.col("replaced_role"), f.col("role")).alias("role"), "key", "row", "id"
        )

    def _first(self, frame: DataFrame, *order: Any) -> list[Any]:
        """The first ``samples_max`` rows in the given order."""
        return list(frame.orderBy(*order).limit(self.samples_max).collect())


def _is_missing() -> Column:
    from pyspark.sql import functions as f

    return (f.col("inputs") == 0) & f.col("committed").isNull()


def _holders(given: DataFrame) -> DataFrame:
    """By key, the id of the ``first`` row that holds it."""
    from pyspark.sql import functions as f

    return given.where("row = first").select("key", f.col("id").alias("holder"))


@dataclass
class RejectingSparkChecks(SparkChecks):
    """Reports every violating row, by table and address, up to one more than may be rejected."""

    samples_max: int = limits.REJECTED_ROWS_MAX + 1

    def places(self, key: str, rows: Sequence[int]) -> Mapping[int, Place]:
        return {row: Place(key, row) for row in rows}

    def refuse_existing(self, table: InputTable, count: int, there: DataFrame) -> None:
        key = table.entity.table_key
        rows = self._first(there, "last")
        found = (exists_violation(table.entity, row.key, Place(key, row.last)) for row in rows)
        self.violations.add_group((ViolationCode.DUPLICATE_ID, key, None), count, found)
