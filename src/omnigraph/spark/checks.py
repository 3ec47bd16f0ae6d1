"""The checks over several rows of a Spark load, as jobs over facts.

They find what ``rows.validate`` finds for small input, in the same order and with the same words; tests hold the two
against each other. Input without mistakes takes one job for ids and ends of edges, and one for unique values and
cardinality where a schema has those; samples are looked for only where something was counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from omnigraph.rows.arrow_types import ID, SRC
from omnigraph.rows.limits import SAMPLES_PER_KIND_MAX
from omnigraph.rows.validate import cardinality_violation, endpoint_violation, unique_columns, unique_violation
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.catalog import EdgeType
from omnigraph.spark.facts import SPACES_PER_TABLE, Emission, KeyScan, Role, facts
from omnigraph.spark.input import InputTable, LoadInput
from omnigraph.spark.spaces import Reference, Spaces
from omnigraph.storage.store import Store
from omnigraph.write.load import LoadMode, duplicate_violation, exists_already, is_keyed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


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
        """Per space and id: ``inputs``, the ``last`` row of the input, the ``committed`` row, ``refs``."""
        from pyspark.sql import functions as f

        is_input = f.col("role") == int(Role.INPUT)
        return (
            self._facts(self.spaces.id_scans())
            .groupBy("space", "key")
            .agg(
                f.count_if(is_input).alias("inputs"),
                f.max(f.when(is_input, f.col("row"))).alias("last"),
                f.max(f.when(f.col("role") == int(Role.COMMITTED), f.col("row"))).alias("committed"),
                f.count_if(f.col("role") >= int(Role.REFERENCE)).alias("refs"),
            )
        )

    def count_ids(self, ids: DataFrame) -> dict[int, Any]:
        """Per space: how many rows of the input are ``repeated``, ids ``existing``, references ``missing``."""
        from pyspark.sql import functions as f

        counted = ids.groupBy("space").agg(
            f.sum(f.greatest(f.col("inputs") - 1, f.lit(0))).alias("repeated"),
            f.count_if((f.col("inputs") > 0) & f.col("committed").isNotNull()).alias("existing"),
            f.sum(f.when(_is_missing(), f.col("refs")).otherwise(0)).alias("missing"),
        )
        return {row.space: row for row in counted.collect()}

    # --- ids -------------------------------------------------------------------------------------------

    def settle_duplicates(self, ids: DataFrame, counts: Mapping[int, Any]) -> bool:
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

    def run(self, ids: DataFrame, counts: Mapping[int, Any]) -> None:
        """Every other check, in the order of ``rows.validate``."""
        missing = {key for key in self.spaces.state.tables if self._missing(counts, key)}
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

    def _missing(self, counts: Mapping[int, Any], key: str) -> int:
        counted = counts.get(self.spaces.ids(key))
        return 0 if counted is None else int(counted.missing)

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
        """Per space and value: how many rows hold it where; None if no constraint asks."""
        from pyspark.sql import functions as f

        scans = self.spaces.input_tuple_scans()
        if not scans:
            return None
        given = self._facts(scans).withColumn("is_replaced", f.lit(False))
        held = self._committed_tuples(ids)
        rows = given if held is None else given.unionByName(held)
        is_input, is_held = f.col("role") == int(Role.INPUT), f.col("role") == int(Role.COMMITTED)
        is_replaced = is_held & f.col("is_replaced")
        return rows.groupBy("space", "key").agg(
            f.count_if(is_input).alias("inputs"),
            f.min(f.when(is_input, f.col("row"))).alias("first"),
            f.count_if(is_held & ~f.col("is_replaced")).alias("kept"),
            f.count_if(is_replaced).alias("replaced"),
            f.min(f.when(is_replaced, f.col("row"))).alias("first_replaced"),
            f.count_if(f.col("role") == int(Role.NEW_NODE)).alias("new_nodes"),
            f.count_if(f.col("role") == int(Role.OLD_NODE)).alias("old_nodes"),
        )

    def _committed_tuples(self, ids: DataFrame) -> DataFrame | None:
        """Facts of committed rows, told whether the input replaces the row."""
        from pyspark.sql import functions as f

        is_upsert = any(self.existing.values())
        scans = self.spaces.committed_tuple_scans(with_ids=is_upsert)
        if not scans:
            return None
        held = self._facts(scans)
        if not is_upsert:
            return held.withColumn("is_replaced", f.lit(False))
        return _told_replaced(held, ids)

    def _count_tuples(self, tuples: DataFrame) -> dict[int, Any]:
        from pyspark.sql import functions as f

        counted = tuples.groupBy("space").agg(
            f.sum(f.greatest(f.col("inputs") - 1, f.lit(0))).alias("repeated"),
            f.sum(f.when(f.col("inputs") > 0, f.col("kept")).otherwise(0)).alias("held"),
            f.count_if(self._is_beyond()).alias("beyond"),
        )
        return {row.space: row for row in counted.collect()}

    def _is_beyond(self) -> Column:
        """Whether a source that the input touches has too few or too many edges. One that vanishes is not judged."""
        from pyspark.sql import functions as f

        edges = f.col("inputs") + f.col("kept")
        is_wrong = f.lit(False)
        for edge in self.spaces.bounded_edges():
            beyond = edges < edge.ir.card_min
            if edge.ir.card_max is not None:
                beyond = beyond | (edges > edge.ir.card_max)
            is_wrong = is_wrong | ((f.col("space") == self.spaces.sources(edge.table_key)) & beyond)
        is_touched = (f.col("inputs") > 0) | (f.col("replaced") > 0)
        has_vanished = (f.col("old_nodes") > 0) & (f.col("new_nodes") == 0)
        return is_touched & (edges > 0) & is_wrong & ~has_vanished

    def _report_cardinality(self, edge: EdgeType, space: int, count: int, tuples: DataFrame) -> None:
        from pyspark.sql import functions as f

        wrong = tuples.where((tuples.space == space) & self._is_beyond())
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
        if not count:
            return
        emission = Emission(space, Role.COMMITTED, tuple(columns))
        held = self._facts([self.spaces.committed_scan(table.entity.table_key, emission, with_ids=True)])
        wanted = tuples.where((tuples.space == space) & (tuples.inputs > 0)).select("key", "first")
        samples = _first(_told_replaced(held, ids).where("not is_replaced").join(wanted, "key"), "row")
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
    """Facts of committed rows with ``is_replaced``: whether the input has a row of the same id."""
    from pyspark.sql import functions as f

    replaced = ids.where((ids.inputs > 0) & ids.committed.isNotNull()).select(
        f.col("space").alias("owner"), f.col("key").alias("id"), f.lit(True).alias("found")
    )
    owned = held.withColumn("owner", f.col("space") - f.col("space") % SPACES_PER_TABLE)
    joined = owned.join(replaced, ["owner", "id"], "left")
    return joined.select("space", "role", "key", "row", "id", f.col("found").isNotNull().alias("is_replaced"))


def _first(frame: DataFrame, *order: Any) -> list[Any]:
    """As many rows as are shown of one kind of violation, in that order."""
    return list(frame.orderBy(*order).limit(SAMPLES_PER_KIND_MAX).collect())
