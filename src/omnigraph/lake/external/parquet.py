"""Parquet files as a table: one file, a pattern, or all files below a directory, with values from partition names.

``orders/day=2026-01-31/part-0.parquet`` has the column ``day`` for all of its rows, as Hive and Spark write it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from omnigraph.errors import NotFoundError
from omnigraph.lake.external.found import PARQUET_ENDINGS, FoundFile, FoundTable
from omnigraph.storage.objects.outside_files import SourceFile
from omnigraph.storage.objects.source_files import PATTERN, find_files, find_matching
from omnigraph.storage.objects.uri import is_remote

NULL: Final = "__HIVE_DEFAULT_PARTITION__"
"""The name of the partition of nulls."""

_NAMES: Final = "names of files begin neither with _ nor with ., and end in .parquet below a directory"


def find_table(address: str, options: Mapping[str, str]) -> FoundTable:
    """The Parquet files at an address."""
    found = list(_remote(address, options) if is_remote(address) else _local(address))
    if not found:
        is_file = address.lower().endswith(PARQUET_ENDINGS) and not PATTERN.search(address)
        hint = "check the address" if is_file else _NAMES
        raise NotFoundError(f"there is no Parquet file at {address!r}", hint=hint, path=address)
    root = _root(address, [file.address for file in found])
    files = [FoundFile(file, partition_values(file.address.removeprefix(root))) for file in found]
    return FoundTable(root, None, files)


def _root(address: str, files: Sequence[str]) -> str:
    """The directory in front of the first pattern, or that of a single file. Partitions are named behind it."""
    pattern = PATTERN.search(address)
    if pattern is None and address not in files:
        return f"{address.rstrip('/')}/"
    return address[: address.rindex("/", 0, None if pattern is None else pattern.start()) + 1]


def _remote(address: str, options: Mapping[str, str]) -> Iterator[SourceFile]:
    if PATTERN.search(address):
        yield from find_matching(address, options)
    elif address.lower().endswith(PARQUET_ENDINGS):
        yield from find_files(address, options)
    else:
        root = f"{address.rstrip('/')}/"
        for file in find_files(root, options, PARQUET_ENDINGS):
            if not _is_hidden(file.address.removeprefix(root)):
                yield file


def _local(address: str) -> Iterator[SourceFile]:
    if os.path.isfile(address):
        names = [address]
    elif os.path.isdir(address):
        below = (os.path.join(parent, name) for parent, _, files in os.walk(address) for name in files)
        names = [
            name
            for name in below
            if name.lower().endswith(PARQUET_ENDINGS) and not _is_hidden(os.path.relpath(name, address))
        ]
    else:
        names = [name for name in glob.glob(address, recursive=True) if os.path.isfile(name)]
    for name in sorted(names):
        yield from find_files(name, {})


def _is_hidden(relative: str) -> bool:
    """True for markers, logs and unfinished files: ``_SUCCESS``, ``_temporary/part-0.parquet``."""
    return any(name.startswith(("_", ".")) for name in relative.split("/"))


def partition_values(relative: str) -> dict[str, str | None]:
    """The values that the directories of a file name."""
    parts = (name.partition("=") for name in relative.split("/")[:-1])
    named = ((unquote(name), unquote(value)) for name, sign, value in parts if sign and name)
    return {name: None if value == NULL else value for name, value in named}
