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
from omnigraph.rows.cardinality import beyond_sql, cardinality_violation
from omnigraph.rows.limits import SAMPLES_PER_KIND_MAX
from omnigraph.rows.validate import endpoint_violation, unique_columns, unique_violation
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import EdgeType
from omnigraph.spark.cluster import limits
from omnigraph.spark.load.checks.facts import SPACES_PER_TABLE, Emission, KeyScan, Role, facts
from omnigraph.spark.load.checks.groups import Buckets, Grouping, blocks, count_facts, grouped, packed
from omnigraph.spark.load.checks.spaces import Reference, Spaces
from omnigraph.spark.load.input import InputTable, LoadInput
from omnigraph.write.load.plan import LoadMode, duplicate_violation, exists_already, exists_violation, is_keyed

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

    A source that vanishes is not judged; one that is vacated is.
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
            THEN ({is_touched}) AND NOT ({has_vanished}) AND ({beyond or "false"})
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
    """The input, as it is when this is made, against one state of the graph. Its ids are grouped at once."""

    spark: SparkSession
    input: LoadInput
    spaces: Spaces
    violations: Violations
    samples_max: int = SAMPLES_PER_KIND_MAX
    """Rows that are told of each kind of violation."""
    ids: DataFrame = field(init=False)
    """Ids that are twice in the input, or there already, or missing.

    Per space and id: ``inputs``, the ``last`` row of the input, the ``committed`` row, ``refs``. Kept by Spark, for all
    that goes wrong asks for them again; whoever made the checks lets them go.
    """
    counts: Mapping[int, IdCounts] = field(init=False)

    def __post_init__(self) -> None:
        scans = self.spaces.id_scans()
        buckets = Buckets.for_facts(count_facts(scans))
        self.ids = grouped(blocks(self.spark, self.input.store, scans, buckets), buckets, IDS).persist()
        self.counts = self._count_ids()

    def places(self, key: str, rows: Sequence[int]) -> Mapping[int, Place]:
        """How violations name rows of a table of the input, by address."""
        return self.input.places(key, rows)

    def existing(self, key: str) -> int:
        """How many committed rows of a table have ids of the input."""
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

    # --- ids -------------------------------------------------------------------------------------------

    def settle_duplicates(self) -> bool:
        """Ids that are twice in the input: an error, or the last one wins; whether rows were set aside."""
        has_changed = False
        for key, table in sorted(self.input.tables.items()):
            repeated = self.counts[self.spaces.ids(key)].repeated
            if not repeated:
                continue
            if self.input.mode is not LoadMode.MERGE or is_keyed(table.entity):
                self._report_duplicates(table, repeated)
            else:
                earlier = self._earlier(table).select("row").orderBy("row")
                self.input.supersede(key, (row.row for row in earlier.toLocalIterator()))
                has_changed = True
        return has_changed

    def _earlier(self, table: InputTable) -> DataFrame:
        """Rows of the input that are not the last ones of their id."""
        key = table.entity.table_key
        space = self.spaces.ids(key)
        given = self._facts([self.spaces.input_scan(key, Emission(space, Role.INPUT, (ID,)))])
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
        """Ids of an append that exist, each with the ``last`` row of the input that has it: the load ends here."""
        first = there.orderBy("key").limit(1).collect()[0]
        place = self.places(table.entity.table_key, [first.last])[first.last]
        raise exists_already(table.entity, first.key, count, place)

    # --- everything else -------------------------------------------------------------------------------

    def run(self) -> None:
        """Every check of an input in which no id is twice, in the order of ``rows.validate``."""
        for key, table in sorted(self.input.tables.items()):
            if self.input.mode is LoadMode.APPEND and self.existing(key):
                space = self.spaces.ids(key)
                there = self.ids.where(f"space = {space} and inputs > 0 and committed is not null")
                self.refuse_existing(table, self.existing(key), there)
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

    def _report_missing(self, reference: Reference) -> None:
        edge, end = reference.edge, reference.end
        space = self.spaces.ids(reference.node_key)
        emission = Emission(space, reference.role, (end,))
        make = self.spaces.committed_scan if reference.is_kept else self.spaces.input_scan
        given = self._facts([make(edge.table_key, emission, with_ids=True)])
        absent = self.ids.where((self.ids.space == space) & _is_missing() & (self.ids.refs > 0)).select("key")
        dangling = given.join(absent, "key")
        count = dangling.count()
        if not count:
            return
        samples = self._first(dangling, "row")
        places = {} if reference.is_kept else self.places(edge.table_key, [sample.row for sample in samples])
        found = (endpoint_violation(edge, end, sample.id, sample.key, places.get(sample.row)) for sample in samples)
        self.violations.add_group((ViolationCode.ENDPOINT, edge.table_key, end), count, found)

    # --- unique values and cardinality -----------------------------------------------------------------

    def _by_tuple(self) -> DataFrame | None:
        """Values that are held twice, and sources with too few or too many edges; None if no constraint asks."""
        given, held = self.spaces.input_tuple_scans(), self.spaces.committed_tuple_scans()
        if not given:
            return None
        buckets = Buckets.for_facts(count_facts([*given, *held]))
        if held and any(self.existing(key) for key in self.input.tables):
            told = packed(self._told_replaced(self._facts(held)), buckets)
            facts = blocks(self.spark, self.input.store, given, buckets).unionByName(told)
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

        wrong = tuples.where(tuples.space == space)
        samples = self._first(wrong, f.col("inputs") == 0, f.coalesce(f.col("first"), f.col("first_replaced")))
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
        emission = Emission(space, Role.COMMITTED, tuple(columns))
        held = self._facts([self.spaces.committed_scan(table.entity.table_key, emission, with_ids=True)])
        wanted = tuples.where(f"space = {space} and inputs > 0").select("key", "first")
        ours = _holders(self._input_values(table, columns, space).join(wanted, "key"))
        kept = self._told_replaced(held).where(f"role = {Role.COMMITTED:d}")
        samples = self._first(kept.join(wanted, "key").join(ours, "key"), "row")
        self._add_unique(table, columns, count, [(each.id, each.holder, each.first, each.key) for each in samples])

    def _input_values(self, table: InputTable, columns: Sequence[str], space: int) -> DataFrame:
        emission = Emission(space, Role.INPUT, tuple(columns))
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

    def _told_replaced(self, held: DataFrame) -> DataFrame:
        """Facts of committed rows, those apart that the input replaces: it has a row of the same id."""
        from pyspark.sql import functions as f

        replaced = self.ids.where("inputs > 0 and committed is not null").select(
            f.col("space").alias("owner"), f.col("committed").alias("row"), f.lit(int(Role.REPLACED)).alias("told")
        )
        owned = held.withColumn("owner", f.col("space") - f.col("space") % SPACES_PER_TABLE)
        joined = owned.join(replaced, ["owner", "row"], "left")
        return joined.select("space", f.coalesce(f.col("told"), f.col("role")).alias("role"), "key", "row", "id")

    def _first(self, frame: DataFrame, *order: Any) -> list[Any]:
        """As many rows as are told of one kind of violation, in that order."""
        return list(frame.orderBy(*order).limit(self.samples_max).collect())


def _is_missing() -> Column:
    from pyspark.sql import functions as f

    return (f.col("inputs") == 0) & f.col("committed").isNull()


def _holders(given: DataFrame) -> DataFrame:
    """Of rows with the ``first`` one that has their key: its id, by key."""
    from pyspark.sql import functions as f

    return given.where("row = first").select("key", f.col("id").alias("holder"))


@dataclass
class RejectingSparkChecks(SparkChecks):
    """Tells every row, as its table and address, up to one more than may be set aside."""

    samples_max: int = limits.REJECTED_ROWS_MAX + 1

    def places(self, key: str, rows: Sequence[int]) -> Mapping[int, Place]:
        return {row: Place(key, row) for row in rows}

    def refuse_existing(self, table: InputTable, count: int, there: DataFrame) -> None:
        key = table.entity.table_key
        rows = self._first(there, "last")
        found = (exists_violation(table.entity, row.key, Place(key, row.last)) for row in rows)
        self.violations.add_group((ViolationCode.DUPLICATE_ID, key, None), count, found)
