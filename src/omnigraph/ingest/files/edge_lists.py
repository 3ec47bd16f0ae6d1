"""Edge lists: two ends per line, separated by spaces, tabs or commas, and further values; no header.

Lines that begin with ``#`` or ``%`` are comments, as in the collections of SNAP and KONECT. The columns are ``source``,
``target``, ``weight``, and ``value4`` and so on behind them; all hold text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

import pyarrow as pa

from omnigraph.core.display import counted
from omnigraph.errors import InputError
from omnigraph.ingest.files.content import Content
from omnigraph.ingest.tables import Report, SourceTable
from omnigraph.rows.limits import LINE_BYTES_MAX, RECORDS_PER_BLOCK
from omnigraph.rows.typed_rows import PlacedBatch

_COMMENTS: Final = (b"#", b"%")
_DIVIDER: Final = re.compile(rb"[ \t]*[,;][ \t]*|[ \t]+")
_NAMES: Final = ("source", "target", "weight")

Fields = tuple[int, list[bytes]]


def open_edge_list(content: Content, report: Report) -> SourceTable:
    """The edges of a file, with as many columns as the first edge has values."""
    edges = _edges(content)
    first = next(edges, None)
    if first is None:
        raise InputError(
            f"{content.name} holds no edges", hint="an edge list has two ids in each line", path=content.name
        )
    width = len(first[1])
    if width < 2:
        raise InputError(
            f"{content.name}:{first[0]}: one value, but an edge has two ends",
            hint="an edge list has two ids in each line, and no header",
            path=content.name,
        )
    if any(value.startswith(b"{") for value in first[1]):
        raise InputError(
            f"{content.name}:{first[0]}: attributes in braces are not read",
            hint="write them as values: networkx.write_edgelist(graph, path, data=['weight']), or as GraphML",
            path=content.name,
        )
    names = [*_NAMES, *(f"value{number}" for number in range(4, width + 1))][:width]
    schema = pa.schema([(name, pa.utf8()) for name in names])
    return SourceTable(content.name, schema, _batches(first, edges, schema, report), is_text=True)


def _edges(content: Content) -> Iterator[Fields]:
    for number, line in enumerate(_lines(content), 1):
        text = line.strip()
        if text and not text.startswith(_COMMENTS):
            yield number, _DIVIDER.split(text)


def _lines(content: Content) -> Iterator[bytes]:
    rest = b""
    for chunk in content.chunks():
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
        if len(rest) > LINE_BYTES_MAX:
            raise content.broken("it has no line ends")
    yield rest


def _batches(first: Fields, edges: Iterator[Fields], schema: pa.Schema, report: Report) -> Iterator[PlacedBatch]:
    part = [first, *islice(edges, RECORDS_PER_BLOCK)]
    while part:
        kept = [(line, fields) for line, fields in part if _is_complete(line, fields, schema, report)]
        columns = [pa.array([fields[index] for _, fields in kept], pa.binary()) for index in range(len(schema))]
        try:
            texts = [column.cast(pa.utf8()) for column in columns]
        except pa.ArrowInvalid:
            report(part[0][0], "the values of these lines are not UTF-8")
            texts = [pa.nulls(0, pa.utf8()) for _ in columns]
            kept = []
        lines = pa.array([line for line, _ in kept], pa.int64())
        yield PlacedBatch(pa.RecordBatch.from_arrays(texts, schema=schema), lines)
        part = list(islice(edges, RECORDS_PER_BLOCK))


def _is_complete(line: int, fields: list[bytes], schema: pa.Schema, report: Report) -> bool:
    if len(fields) == len(schema):
        return True
    report(line, f"{counted(len(fields), 'value')}, but the first edge has {len(schema)}")
    return False
