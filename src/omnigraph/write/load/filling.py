"""Key columns that rows of a large upsert omit, filled from the graph, so that the checks see whole entities.

They report what ``write.load.completion`` reports for small input. Derived ids of partly given keys are checked when
the rows themselves are completed (``write.load.bulk_images``).
"""

from __future__ import annotations

from omnigraph.rows.arrow_types import DST, ID, SRC, table_schema
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import EdgeType
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.completion import incomplete_violation, missing_violation
from omnigraph.write.load.keys import InputKeys, KeyTable
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.patterns import sql_list


def fill_keys(
    keys: InputKeys,
    table: KeyTable,
    committed: CommittedKeys,
    mode: LoadMode,
    violations: Violations,
    samples_max: int,
) -> None:
    """Report rows that cannot be completed, and fill the key columns of the others. Their ids were found before."""
    if mode is LoadMode.UPDATE:
        _report(keys, table, (ViolationCode.NOT_FOUND, None), "", violations, samples_max)
    else:
        for field in table_schema(table.entity):
            if field.name != ID and not field.nullable and table.patterns.omitting(field.name):
                where = f"WHERE t.omitted IN {sql_list(table.patterns.omitting(field.name))}"
                _report(keys, table, (ViolationCode.REQUIRED, field.name), where, violations, samples_max)
    columns = [name for name in table.columns if name != ID and table.patterns.omitting(name)]
    if columns:
        _fill(keys, table, committed, columns)


def _report(
    keys: InputKeys,
    table: KeyTable,
    what: tuple[ViolationCode, str | None],
    where: str,
    violations: Violations,
    samples_max: int,
) -> None:
    """Report rows whose entity does not exist."""
    code, name = what
    entity = table.entity

    def violation(id_: str, place: Place) -> Violation:
        if name is None:
            return missing_violation(entity, id_, place)
        return incomplete_violation(entity, name, id_, place)

    rows = f"FROM {table.name} t ANTI JOIN {table.found_name} f ON t.k0 = f.id {where}"
    count = keys.number(f"SELECT count(*) {rows}")
    if not count:
        return
    samples = keys.run(f'SELECT k0, source, line {rows} ORDER BY t."row" LIMIT {samples_max}')
    found = (violation(id_, keys.place(source, line)) for id_, source, line in samples)
    violations.add_group((code, table.entity.table_key, name), count, found)


def _fill(keys: InputKeys, table: KeyTable, committed: CommittedKeys, columns: list[str]) -> None:
    """Make the filled table, which stands for the raw one until the next attempt."""
    held = ", ".join(f"c{number}" for number in range(len(columns) + 1))
    raw, filled = table.name, f"{table.base}_filled"
    keys.run(
        f"CREATE OR REPLACE TEMP TABLE held AS SELECT {held} FROM committed c SEMI JOIN {raw} t ON c.c0 = t.k0",
        committed=committed.keys(table.entity, [ID, *columns]),
    )
    chosen = ['t."row"', "t.source", "t.line", "t.omitted"]
    for name, column in table.columns.items():
        if name in columns:
            omitted = sql_list(table.patterns.omitting(name))
            source = f"CASE WHEN t.omitted IN {omitted} THEN h.c{columns.index(name) + 1} ELSE t.{column} END"
            chosen.append(f"{source} AS {column}")
        else:
            chosen.append(f"t.{column}")
    joined = f"{raw} t LEFT JOIN held h ON t.k0 = h.c0"
    keys.run(f"CREATE OR REPLACE TABLE {filled} AS SELECT {', '.join(chosen)} FROM {joined}")
    if isinstance(table.entity, EdgeType):
        # Reported above: without its ends an edge cannot be checked further.
        keys.run(f"DELETE FROM {filled} WHERE {table.columns[SRC]} IS NULL OR {table.columns[DST]} IS NULL")
    table.is_filled = True
