"""Constraints over several rows of a large load, as SQL statements of the key database.

They report what ``rows.validate`` and ``write.load.plan`` report for small input, in the same order and with the same
texts; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from omnigraph.rows.cardinality import beyond_sql, cardinality_violation, has_bounds, has_minimum
from omnigraph.rows.ends.references import is_of_type_sql, reference_sql
from omnigraph.rows.ends.violations import endpoint_violation, pair_violation
from omnigraph.rows.limits import SAMPLES_PER_KIND_MAX
from omnigraph.rows.validate import (
    STRANDED_HINT,
    unique_columns,
    unique_violation,
)
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.catalog import Catalog, EdgeEnd, EdgeType, NodeType
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.filling import fill_keys
from omnigraph.write.load.keys import InputKeys, KeyTable
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.plan import duplicate_violation, exists_already, exists_violation
from omnigraph.write.load.proofs import EndProofs, are_distinct
from omnigraph.write.load.repeats import fold_repeats


def settle_duplicates(
    keys: InputKeys,
    mode: LoadMode,
    violations: Violations,
    samples_max: int = SAMPLES_PER_KIND_MAX,
    *,
    drops_reported: bool = True,
) -> None:
    """Keep the last of duplicate ids. The others are violations, unless the mode takes repeats of types without a key.

    Without ``drops_reported`` the caller removes the rows that were reported.
    """
    for _, table in sorted(keys.tables.items()):
        if table.is_ascending or are_distinct(keys, table, ["id"]) or not _find_doubtful(keys, table, ["id"]):
            continue
        keys.run(
            f'CREATE OR REPLACE TEMP TABLE twice AS SELECT k0 AS id, max("row") AS last FROM {table.name} '
            "WHERE hash(k0) IN (SELECT hash FROM doubtful) GROUP BY k0 HAVING count(*) > 1"
        )
        earlier = f'FROM {table.name} t JOIN twice ON t.k0 = twice.id AND t."row" <> twice.last'
        count = keys.number(f"SELECT count(*) {earlier}")
        if not count:
            continue
        if not mode.takes_repeats or table.entity.key:
            _report_duplicates(keys, table, count, earlier, violations, samples_max)
            if not drops_reported:
                continue
        if mode.is_partial:
            fold_repeats(keys, table)
        keys.run(f'CREATE TABLE {table.superseded_name} AS SELECT t."row" {earlier}')
        keys.run(f'DELETE FROM {table.name} WHERE "row" IN (SELECT "row" FROM {table.superseded_name})')
        table.superseded = count


def _find_doubtful(keys: InputKeys, table: KeyTable, columns: Sequence[str]) -> int:
    """Fill ``doubtful`` with hashes that several rows share; returns their number.

    Grouping numbers is several times faster than grouping texts, and most inputs have no duplicates.
    """
    texts = [table.columns[column] for column in columns]
    given = " AND ".join(f"{text} IS NOT NULL" for text in texts)
    rounds = 1 + table.written // keys.grouped_rows
    keys.run("CREATE OR REPLACE TEMP TABLE doubtful (hash UBIGINT)")
    for number in range(rounds):
        keys.run(
            f"INSERT INTO doubtful SELECT hash FROM (SELECT hash({', '.join(texts)}) AS hash FROM {table.name} "
            f"WHERE {given}) WHERE hash % {rounds} = {number} GROUP BY hash HAVING count(*) > 1"
        )
    return keys.number("SELECT count(*) FROM doubtful")


def _report_duplicates(
    keys: InputKeys, table: KeyTable, count: int, earlier: str, violations: Violations, samples_max: int
) -> None:
    samples = keys.run(
        f"SELECT t.k0, t.source, t.line, again.source, again.line {earlier} JOIN {table.name} again "
        f'ON again."row" = twice.last ORDER BY t."row" LIMIT {samples_max}'
    )
    kind = (ViolationCode.DUPLICATE_ID, table.entity.table_key, None)
    found = (
        duplicate_violation(table.entity, id_, keys.place(source, line), keys.place(again_source, again_line))
        for id_, source, line, again_source, again_line in samples
    )
    violations.add_group(kind, count, found)


@dataclass
class GraphChecks:
    """Checks of the input against one state of the graph. Also finds the committed rows that the input replaces."""

    keys: InputKeys
    catalog: Catalog
    committed: CommittedKeys
    mode: LoadMode
    violations: Violations
    samples_max: int = SAMPLES_PER_KIND_MAX

    def run(self) -> None:
        """Every check, in the order of ``rows.validate``."""
        tables, ends = self.keys.tables, EndProofs(self.keys, self.catalog, self.committed, self.mode)
        for _, table in sorted(tables.items()):
            table.is_filled = False
            self._find_ids(table)
            if self.mode.is_partial:
                fill_keys(self.keys, table, self.committed, self.mode, self.violations, self.samples_max)
        for key in sorted(tables, key=lambda key: (key.startswith("edge:"), key)):
            table = tables[key]
            for columns in unique_columns(table.entity):
                self._check_unique_in_input(table, columns)
                self._check_unique_in_graph(table, columns)
            if isinstance(table.entity, EdgeType):
                if not ends.are_present(table, table.entity):
                    self._check_endpoints(table, table.entity)
                self._check_pairs(table, table.entity)
        for _, table in sorted(tables.items()):
            if self.mode is LoadMode.OVERWRITE and isinstance(table.entity, NodeType):
                self._check_stranded(table, table.entity)
        for _, table in sorted(tables.items()):
            edge = table.entity
            if isinstance(edge, EdgeType) and has_bounds(edge):
                self._check_cardinality(table, edge)
        if self.mode is LoadMode.APPEND:
            for _, table in sorted(tables.items()):
                self.refuse_existing(table)

    def _find_ids(self, table: KeyTable) -> None:
        """Find committed rows with ids of the input; for an overwrite, also the committed nodes that are deleted."""
        self._find(table, "SEMI JOIN", table.found_name)
        if self.mode is LoadMode.OVERWRITE and isinstance(table.entity, NodeType):
            self._find(table, "ANTI JOIN", table.vanished_name)

    def _find(self, table: KeyTable, join: str, name: str) -> None:
        self.keys.run(f"CREATE OR REPLACE TABLE {name} (id VARCHAR, address UBIGINT)")
        if not self.committed.rows(table.entity.table_key):
            return
        statement = f"INSERT INTO {name} SELECT c.c0, c.address FROM committed c {join} {table.name} t ON c.c0 = t.k0"
        self.keys.run(statement, committed=self.committed.keys(table.entity, ["id"]))

    def refuse_existing(self, table: KeyTable) -> None:
        """Raise KeyConflictError for an append with existing ids; among other violations they are violations too."""
        count = self.keys.number(f"SELECT count(*) FROM {table.found_name}")
        if count and not self.violations.total:
            first = f"SELECT min(id) FROM {table.found_name}"
            [(id_, source, line)] = self.keys.run(f"SELECT k0, source, line FROM {table.name} WHERE k0 = ({first})")
            raise exists_already(table.entity, id_, count, self.keys.place(source, line))
        self.add_existing(table, count)

    def add_existing(self, table: KeyTable, count: int) -> None:
        """Report existing ids as violations of their rows."""
        if not count:
            return
        rows = self.keys.run(
            f"SELECT k0, source, line FROM {table.name} t SEMI JOIN {table.found_name} f ON t.k0 = f.id "
            f'ORDER BY t."row" LIMIT {self.samples_max}'
        )
        found = (exists_violation(table.entity, id_, self.keys.place(at, line)) for id_, at, line in rows)
        self.violations.add_group((ViolationCode.DUPLICATE_ID, table.entity.table_key, None), count, found)

    def _check_unique_in_input(self, table: KeyTable, columns: Sequence[str]) -> None:
        if are_distinct(self.keys, table, columns) or not _find_doubtful(self.keys, table, columns):
            return
        texts = [table.columns[column] for column in columns]
        listed, given = ", ".join(texts), " AND ".join(f"{text} IS NOT NULL" for text in texts)
        self.keys.run(
            f'CREATE OR REPLACE TEMP TABLE shared AS SELECT {listed}, min("row") AS first FROM {table.name} '
            f"WHERE {given} AND hash({listed}) IN (SELECT hash FROM doubtful) GROUP BY {listed} HAVING count(*) > 1"
        )
        same = " AND ".join(f"t.{text} = shared.{text}" for text in texts)
        later = f'FROM {table.name} t JOIN shared ON {same} AND t."row" <> shared.first'
        count = self.keys.number(f"SELECT count(*) {later}")
        if count:
            samples = self.keys.run(
                f"SELECT holder.k0, t.k0, t.source, t.line, {', '.join(table.tuple_of(columns, 't'))} {later} "
                f'JOIN {table.name} holder ON holder."row" = shared.first '
                f'ORDER BY t."row" LIMIT {self.samples_max}'
            )
            self._add_unique(table, columns, count, samples)

    def _check_unique_in_graph(self, table: KeyTable, columns: Sequence[str]) -> None:
        if self.mode is LoadMode.OVERWRITE or not self.committed.rows(table.entity.table_key):
            return
        held = ", ".join(f"c{number} AS h{number}" for number in range(1, len(columns) + 1))
        same = " AND ".join(f"c.c{number} = t.{table.columns[name]}" for number, name in enumerate(columns, 1))
        self.keys.run(
            f"CREATE OR REPLACE TEMP TABLE held AS SELECT c0 AS id, address, {held} FROM committed c "
            f"SEMI JOIN {table.name} t ON {same}",
            committed=self.committed.keys(table.entity, ["id", *columns]),
        )
        self.keys.run(f"DELETE FROM held WHERE id IN (SELECT k0 FROM {table.name})")
        count = self.keys.number("SELECT count(*) FROM held")
        if count:
            same = " AND ".join(f"held.h{number} = t.{table.columns[name]}" for number, name in enumerate(columns, 1))
            values = ", ".join(f"any_value(held.h{number})" for number in range(1, len(columns) + 1))
            samples = self.keys.run(
                'SELECT any_value(held.id), arg_min(t.k0, t."row"), arg_min(t.source, t."row"), '
                f'arg_min(t.line, t."row"), {values} '
                f"FROM (SELECT * FROM held ORDER BY address LIMIT {self.samples_max}) held "
                f"JOIN {table.name} t ON {same} GROUP BY held.address ORDER BY held.address"
            )
            self._add_unique(table, columns, count, samples)

    def _add_unique(
        self, table: KeyTable, columns: Sequence[str], count: int, samples: Iterable[tuple[object, ...]]
    ) -> None:
        def each() -> Iterable[Violation]:
            for first, second, source, line, *value in samples:
                place = self.keys.place(int(str(source)), int(str(line)))
                texts = tuple(str(text) for text in value)
                yield unique_violation(table.entity, tuple(columns), texts, (str(first), str(second)), place)

        self.violations.add_group((ViolationCode.UNIQUE, table.entity.table_key, columns[0]), count, each())

    def _check_endpoints(self, table: KeyTable, edge: EdgeType) -> None:
        for end in edge.ends:
            if not self._find_missing(table, end):
                continue
            column = table.columns[end.column]
            dangling = f"FROM {table.name} t WHERE {column} IN (SELECT id FROM missing)"
            count = self.keys.number(f"SELECT count(*) {dangling}")
            first = f'ORDER BY "row" LIMIT {self.samples_max}'
            samples = self.keys.run(f"SELECT k0, {column}, source, line {dangling} {first}")
            found = (
                endpoint_violation(edge, end, id_, text, self.keys.place(source, line))
                for id_, text, source, line in samples
            )
            self.violations.add_group((ViolationCode.ENDPOINT, edge.table_key, end.column), count, found)

    def _check_pairs(self, table: KeyTable, edge: EdgeType) -> None:
        """Report edges between types that the edge type does not connect."""
        source, target = (table.columns[end.column] for end in edge.ends)
        for pair in product(edge.source.types, edge.target.types):
            if pair in edge.pairs:
                continue
            ends = (is_of_type_sql(edge.source, pair[0], source), is_of_type_sql(edge.target, pair[1], target))
            wrong = f"FROM {table.name} WHERE {' AND '.join(ends)}"
            count = self.keys.number(f"SELECT count(*) {wrong}")
            if count:
                samples = self.keys.run(f'SELECT k0, source, line {wrong} ORDER BY "row" LIMIT {self.samples_max}')
                found = [pair_violation(edge, id_, pair, self.keys.place(at, line)) for id_, at, line in samples]
                self.violations.add_group((ViolationCode.ENDPOINT, edge.table_key, edge.target.column), count, found)

    def _find_missing(self, table: KeyTable, end: EdgeEnd) -> int:
        """Fill ``missing`` with references to nodes that will not exist after the load; returns their number."""
        column = table.columns[end.column]
        wanted = f"SELECT DISTINCT t.{column} AS id FROM {table.name} t"
        for number, name in enumerate(end.types):
            nodes = self.keys.tables.get(f"node:{name}")
            if nodes is not None:
                # DISTINCT before the join takes longer, and for ten million nodes more memory than the limit.
                own = reference_sql(end, name, f"n{number}.k0")
                wanted += f" ANTI JOIN {nodes.name} n{number} ON t.{column} = {own}"
        self.keys.run(f"CREATE OR REPLACE TEMP TABLE missing AS {wanted}")
        missing = self.keys.number("SELECT count(*) FROM missing")
        for name in end.types:
            if missing:
                self._drop_present(end, self.catalog.nodes[name])
                missing = self.keys.number("SELECT count(*) FROM missing")
        return missing

    def _drop_present(self, end: EdgeEnd, node: NodeType) -> None:
        """Remove from ``missing`` the committed nodes of a type, and all of a type whose ids are unknown."""
        if node.table_key in self.violations.unidentified:
            self.keys.run(f"DELETE FROM missing WHERE {is_of_type_sql(end, node.name, 'id')}")
            return
        is_replaced = node.table_key in self.keys.tables and self.mode is LoadMode.OVERWRITE
        if is_replaced or not self.committed.rows(node.table_key):
            return
        own = reference_sql(end, node.name, "c0")
        self.keys.run(
            f"CREATE OR REPLACE TEMP TABLE present AS SELECT {own} AS id FROM committed c "
            f"SEMI JOIN missing ON {own} = id",
            committed=self.committed.keys(node, ["id"]),
        )
        self.keys.run("DELETE FROM missing WHERE id IN (SELECT id FROM present)")

    def _check_stranded(self, table: KeyTable, node: NodeType) -> None:
        """Report committed edges that stay and lose an endpoint."""
        if not self.keys.number(f"SELECT count(*) FROM {table.vanished_name}"):
            return
        for edge in self.catalog.edges_of(node.name):
            if edge.table_key in self.keys.tables or not self.committed.rows(edge.table_key):
                continue
            for end in edge.ends:
                if node.name in end.types:
                    self._check_ends(table, edge, end)

    def _check_ends(self, nodes: KeyTable, edge: EdgeType, end: EdgeEnd) -> None:
        self.keys.run(
            "CREATE OR REPLACE TEMP TABLE stranded AS SELECT c0 AS id, c1 AS node, address FROM committed c "
            f"SEMI JOIN {nodes.vanished_name} v ON c.c1 = {reference_sql(end, nodes.entity.name, 'v.id')}",
            committed=self.committed.keys(edge, ["id", end.column]),
        )
        count = self.keys.number("SELECT count(*) FROM stranded")
        samples = self.keys.run(f"SELECT id, node FROM stranded ORDER BY address LIMIT {self.samples_max}")
        found = (endpoint_violation(edge, end, id_, node_id, is_stored=True) for id_, node_id in samples)
        if count:
            self.violations.advise(STRANDED_HINT)
            self.violations.add_group((ViolationCode.ENDPOINT, edge.table_key, end.column), count, found)

    def _check_cardinality(self, table: KeyTable, edge: EdgeType) -> None:
        """Recount every source that the input touches, including sources whose edges are replaced or deleted."""
        source = table.columns["src"]
        self.keys.run(
            f'CREATE OR REPLACE TEMP TABLE touched AS SELECT {source} AS id, min("row") AS place, '
            f"count(*) AS edges, false AS is_old FROM {table.name} GROUP BY ALL"
        )
        if self.mode is not LoadMode.OVERWRITE:
            if self.committed.rows(edge.table_key):
                self._count_committed(table, edge)
        elif has_minimum(edge) and self.committed.rows(edge.table_key):
            self._add_vacated(edge)
        for name in edge.source.types if self.mode is LoadMode.OVERWRITE else ():
            nodes = self.keys.tables.get(f"node:{name}")
            if nodes is not None:
                gone = reference_sql(edge.source, name, "id")
                self.keys.run(f"DELETE FROM touched WHERE id IN (SELECT {gone} FROM {nodes.vanished_name})")
        wrong = f"FROM touched WHERE {beyond_sql(edge, 'edges')}"
        count = self.keys.number(f"SELECT count(*) {wrong}")
        if count:
            samples = self.keys.run(f"SELECT id, edges {wrong} ORDER BY is_old, place LIMIT {self.samples_max}")
            found = (cardinality_violation(edge, id_, edges) for id_, edges in samples)
            self.violations.add_group((ViolationCode.CARDINALITY, edge.table_key, "src"), count, found)

    def _count_committed(self, table: KeyTable, edge: EdgeType) -> None:
        self.keys.run(
            "INSERT INTO touched SELECT old.id, old.place, 0, true FROM (SELECT c1 AS id, min(address) AS place "
            f"FROM committed c SEMI JOIN {table.name} t ON c.c0 = t.k0 GROUP BY c1) old ANTI JOIN touched USING (id)",
            committed=self.committed.keys(edge, ["id", "src"]),
        )
        self.keys.run(
            f"CREATE OR REPLACE TEMP TABLE before AS SELECT c1 AS id, count(*) AS edges FROM committed c "
            f"ANTI JOIN {table.name} t ON c.c0 = t.k0 WHERE c1 IN (SELECT id FROM touched) GROUP BY c1",
            committed=self.committed.keys(edge, ["id", "src"]),
        )
        self.keys.run(
            "UPDATE touched SET edges = touched.edges + before.edges FROM before WHERE touched.id = before.id"
        )

    def _add_vacated(self, edge: EdgeType) -> None:
        """An overwrite deletes every committed edge: add the sources that have no edges in the input."""
        self.keys.run(
            "INSERT INTO touched SELECT old.id, old.place, 0, true FROM (SELECT c0 AS id, min(address) AS place "
            "FROM committed GROUP BY c0) old ANTI JOIN touched USING (id)",
            committed=self.committed.keys(edge, ["src"]),
        )
