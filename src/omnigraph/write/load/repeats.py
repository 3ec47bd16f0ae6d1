"""Several rows of one entity in a large upsert: each cell is that of the last row that names it."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.rows.arrow_types import ID
from omnigraph.write.load.keys import InputKeys, KeyTable
from omnigraph.write.load.patterns import sql_list


def fold_repeats(keys: InputKeys, table: KeyTable) -> None:
    """Give the last row of every repeated id the keys and the pattern of all rows with this id together.

    ``twice`` holds the repeated ids with their ``last`` row. The values of other columns are read from the rows that
    ``parts`` names when the rows are completed.
    """
    table.has_parts = True
    keys.run(f'CREATE OR REPLACE TABLE {table.parts_name} (last BIGINT, "column" INTEGER, "row" BIGINT)')
    for place, name in enumerate(table.patterns.columns):
        omitted = sql_list(table.patterns.omitting(name))
        if name == ID or omitted == sql_list([]):
            continue
        keys.run(
            f'INSERT INTO {table.parts_name} SELECT twice.last, {place}, max(t."row") FROM {table.name} t '
            f"JOIN twice ON t.k0 = twice.id WHERE t.omitted NOT IN {omitted} GROUP BY twice.last "
            'HAVING max(t."row") <> twice.last'
        )
        if name in table.columns:
            column = table.columns[name]
            keys.run(
                f"UPDATE {table.name} SET {column} = named.text FROM (SELECT p.last, t.{column} AS text FROM "
                f'{table.parts_name} p JOIN {table.name} t ON t."row" = p."row" WHERE p."column" = {place}) named '
                f'WHERE {table.name}."row" = named.last'
            )
    _fold_patterns(keys, table)


def _fold_patterns(keys: InputKeys, table: KeyTable) -> None:
    keys.run(
        "CREATE OR REPLACE TEMP TABLE together AS SELECT twice.last, list_sort(list(DISTINCT t.omitted)) AS patterns "
        f"FROM {table.name} t JOIN twice ON t.k0 = twice.id GROUP BY twice.last"
    )
    rows = keys.run("SELECT DISTINCT patterns FROM together")
    folded = pa.table(
        {
            "patterns": pa.array([patterns for (patterns,) in rows], pa.list_(pa.int32())),
            "omitted": pa.array([table.patterns.common(patterns) for (patterns,) in rows], pa.int32()),
        }
    )
    keys.run(
        f"UPDATE {table.name} SET omitted = new.omitted FROM (SELECT last, given.omitted FROM together "
        f'JOIN given USING (patterns)) new WHERE {table.name}."row" = new.last',
        given=folded,
    )
