"""Tables in memory: Arrow data, pandas and polars frames, DuckDB relations, columns as lists, structured arrays.

A frame whose columns have no Arrow type, because they mix types, is read as records, so that each wrong value is
reported with its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import pyarrow as pa

from omnigraph.core.python_values import plain_value
from omnigraph.errors import InputError, OmnigraphError, UsageError
from omnigraph.ingest.tables import SourceTable
from omnigraph.rows.read.arrow import as_reader
from omnigraph.rows.typed_rows import numbered

Record = Mapping[str, object]


def is_frame(data: object) -> bool:
    """True for data in columns that this module reads."""
    is_arrow = isinstance(data, pa.Table | pa.RecordBatchReader | pa.RecordBatch)
    return is_arrow or _streams_rows(data) or _is_lazy(data) or _is_structured(data) or _is_dataset(data)


def _streams_rows(data: object) -> bool:
    """True for a stream of tables. A series of polars speaks the same protocol, and is a single column."""
    return hasattr(data, "__arrow_c_stream__") and not (_is_polars(data) and type(data).__name__ == "Series")


def _is_dataset(data: object) -> bool:
    """True for a dataset of Arrow or Lance, which is scanned in batches."""
    return callable(getattr(data, "scanner", None)) and hasattr(data, "schema")


def _is_structured(data: object) -> bool:
    """True for an array of numpy whose type names fields."""
    return getattr(getattr(data, "dtype", None), "names", None) is not None and not hasattr(data, "columns")


def is_columns(data: object) -> bool:
    """True for a dict of columns: lists, arrays or series, no rows and no tables."""
    return isinstance(data, Mapping) and bool(data) and all(map(_is_column, data.values()))


def _is_column(value: object) -> bool:
    if isinstance(value, list | tuple | pa.Array | pa.ChunkedArray):
        return not any(isinstance(item, Mapping) for item in value[:1])
    return not is_frame(value) and hasattr(value, "__array__")


def _is_polars(data: object) -> bool:
    return type(data).__module__.partition(".")[0] == "polars"


def _is_lazy(data: object) -> bool:
    return _is_polars(data) and hasattr(data, "collect")


def open_frame(data: Any, name: str) -> SourceTable | Iterator[Record]:
    """A table of the frame, or its records if a column has no Arrow type."""
    if _is_structured(data):
        data = {field: data[field] for field in data.dtype.names}
    try:
        if _is_lazy(data):
            reader = _collected(data)
        elif _is_dataset(data):
            reader = data.scanner().to_reader()
        else:
            reader = pa.table(data).to_reader() if is_columns(data) else as_reader(data)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as problem:
        if isinstance(problem, UsageError):
            raise
        return _records(data, problem)
    except Exception as problem:
        raise _failed(name, problem) from problem
    return SourceTable(name, reader.schema, numbered(_guarded(name, reader)))


def _collected(lazy: Any) -> pa.RecordBatchReader:
    """The rows of a lazy frame, in batches while it runs if the version of polars can do that."""
    if not hasattr(lazy, "collect_batches"):
        return as_reader(lazy.collect(engine="streaming"))
    frames = iter(lazy.collect_batches(engine="streaming", lazy=True))
    first = next(frames, None)
    first = lazy.collect_schema().to_frame() if first is None else first
    schema = as_reader(first).schema
    batches = (batch for frame in chain([first], frames) for batch in as_reader(frame))
    return pa.RecordBatchReader.from_batches(schema, batches)


def _guarded(name: str, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches. A query that is computed while it is read may fail; its library decides with which exception."""
    try:
        yield from reader
    except OmnigraphError:
        raise
    except Exception as problem:
        raise _failed(name, problem) from problem


def _failed(name: str, problem: Exception) -> OmnigraphError:
    if isinstance(problem, OmnigraphError):
        return problem
    text = str(problem).strip().partition("\n")[0]
    return InputError(f"{name} cannot be read: {type(problem).__name__}: {text}", hint="run the query by itself first")


def _records(data: Any, problem: Exception) -> Iterator[Record]:
    if is_columns(data):
        names, columns = list(data), [list(column) for column in data.values()]
        lengths = {len(column) for column in columns}
        if len(lengths) > 1:
            given = ", ".join(f"{name}: {len(column)}" for name, column in zip(names, columns, strict=True))
            raise UsageError(f"the columns have different lengths ({given})", hint="give every column a value per row")
        return (dict(zip(names, map(_plain, row), strict=True)) for row in zip(*columns, strict=True))
    names = [str(name) for name in getattr(data, "columns", ())]
    if len(set(names)) < len(names) or not hasattr(data, "itertuples"):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise UsageError(
            f"two columns are named {twice[0]!r}" if twice else f"the table cannot be read: {problem}",
            hint="rename one of them" if twice else "convert it to an Arrow table first",
        ) from problem
    rows = data.itertuples(index=False, name=None)
    return (dict(zip(names, map(_plain, row), strict=True)) for row in rows)


def _plain(value: object) -> object:
    """A Python value; None in place of NaN, by which pandas marks a missing value."""
    plain = plain_value(value)
    return None if isinstance(plain, float) and plain != plain else plain
