"""Sources of external types: the newest version of a table, found by its address, with its files and columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, assert_never

from omnigraph.errors import NotFoundError, UsageError
from omnigraph.lake.external.files import open_rows
from omnigraph.lake.external.found import PARQUET_ENDINGS, FoundFile, FoundTable, SourceColumn
from omnigraph.lake.external.seal import SealedFile, packed
from omnigraph.lake.formats import TABLE_FORMATS, missing_library
from omnigraph.schema.ir import External, ExternalFormat
from omnigraph.storage.objects.backends import open_objects, parse_root
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.source_files import PATTERN

FOOTER_THREADS: Final = 8
"""Footers read concurrently: the threads mostly wait for the store."""

DEAD_ROWS_MAX: Final = 10_000_000
"""Deleted rows that one version of a source may have: their offsets are part of its seal."""

LANCE_MARK: Final = "_versions"
"""The directory that makes a directory a Lance table."""


@dataclass(frozen=True)
class Source:
    """The newest version of the table of an external type, with everything that a seal records about its files."""

    address: str
    format: ExternalFormat
    version: str | None
    root: str
    files: tuple[SealedFile, ...]
    columns: Mapping[str, SourceColumn]


FindTable = Callable[[str, Mapping[str, str]], FoundTable]
"""Finds the newest version of a table at an address."""


def find_source(external: External, options: Mapping[str, str]) -> Source:
    """The newest version of the table that an annotation names. Reads the footers of its files."""
    address = external.address.removeprefix("file://")
    format_ = external.format or format_at(address, options)
    found = _finder(format_)(address, options)
    if sum(len(file.dead) for file in found.files) > DEAD_ROWS_MAX:
        raise UsageError(
            f"the table {address!r} has more than {DEAD_ROWS_MAX:,} deleted rows in its files",
            hint="rewrite its files first: OPTIMIZE or REORG of Delta, rewrite_data_files of Iceberg",
            path=address,
        )
    columns = dict(found.columns)
    files: list[SealedFile] = []
    with ThreadPoolExecutor(FOOTER_THREADS) as pool:
        opened = pool.map(_footer, found.files)
        for item, (groups, names) in zip(found.files, opened, strict=True):
            constants = {name: value for name, value in item.constants.items() if name not in names}
            if not found.columns:
                columns |= {name: SourceColumn(name) for name in (*names, *constants)}
            path = item.file.address.removeprefix(found.root)
            pairs = tuple(sorted(constants.items()))
            files.append(SealedFile(path, item.file.size, item.file.stamp, groups, pairs, packed(item.dead)))
    files.sort(key=lambda file: file.path)
    return Source(address, format_, found.version, found.root, tuple(files), columns)


def _footer(item: FoundFile) -> tuple[tuple[int, ...], list[str]]:
    """Rows of the row groups of a file, and the names of its columns."""
    with open_rows(item.file, "an external type") as rows:
        footer = rows.footer
        groups = tuple(footer.row_group(number).num_rows for number in range(footer.num_row_groups))
        return groups, list(rows.schema.names)


def format_at(address: str, options: Mapping[str, str]) -> ExternalFormat:
    """The format of the table at an address, by its name or by what lies there."""
    if address.startswith("iceberg://") or address.endswith(".metadata.json"):
        return ExternalFormat.ICEBERG
    if PATTERN.search(address) or address.lower().endswith(PARQUET_ENDINGS):
        return ExternalFormat.PARQUET
    if os.path.isfile(address):
        return ExternalFormat.PARQUET
    level = open_objects(parse_root(address.rstrip("/")), options, Durability.OS).level("")
    if TABLE_FORMATS["delta"].mark in level.directories:
        return ExternalFormat.DELTA
    if TABLE_FORMATS["iceberg"].mark in level.directories:
        return ExternalFormat.ICEBERG
    if LANCE_MARK in level.directories:
        raise UsageError(
            f"{address!r} is a Lance table, and external tables are Parquet, Iceberg or Delta",
            hint="load it into a type that the graph stores: graph.load(lance.dataset(path), type_name=...)",
            path=address,
        )
    if not level.files and not level.directories:
        raise NotFoundError(f"there is nothing at {address!r}", hint="check the address", path=address)
    return ExternalFormat.PARQUET


def _finder(format_: ExternalFormat) -> FindTable:
    match format_:
        case ExternalFormat.PARQUET:
            from omnigraph.lake.external import parquet

            return parquet.find_table
        case ExternalFormat.ICEBERG:
            with missing_library("iceberg"):
                from omnigraph.lake.external import iceberg
            return iceberg.find_table
        case ExternalFormat.DELTA:
            with missing_library("delta"):
                from omnigraph.lake.external import delta
            return delta.find_table
        case _:
            assert_never(format_)
