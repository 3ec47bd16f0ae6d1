"""The answer of a query: rows with a name, and their conversions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.profile import OperatorProfile
from omnigraph.engine.profile_text import Profiled
from omnigraph.engine.tabular import Row, Tabular
from omnigraph.errors import UsageError
from omnigraph.exec.shape.result_rows import BATCH_ROWS, ResultRows, ValueRows
from omnigraph.rows.write.results import python_rows, result_rows

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped] # has no types of its own
    import polars

    from omnigraph.engine.picture.picture import Picture
    from omnigraph.engine.picture.scene import Caption
    from omnigraph.engine.query.drawable import Drawable, Drawn

SHOWN_ROWS = 10


@dataclass(frozen=True, repr=False)
class QueryResult(Tabular, Displayed, Profiled):
    """Rows of a query, with the commit they were read at.

    The columns of a large result are computed when they are read: reading batches never holds more than one of them.
    The fields are plain values that JSON has, so that ``dataclasses.asdict`` and the encoders of web frameworks work.
    """

    query_name: str
    data: InitVar[ResultRows]
    branch: str | None
    commit_id: str
    operators: tuple[OperatorProfile, ...] = field(default=(), repr=False)
    drawable: InitVar[Drawn] = None
    rows: list[dict[str, Any]] = field(init=False, repr=False, compare=False)
    """Rows of JSON values: dates and times as ISO texts. ``to_dicts`` has Python's values."""

    def __post_init__(self, data: ResultRows, drawable: Drawn) -> None:
        object.__setattr__(self, "_data", data)
        object.__setattr__(self, "_drawable", drawable)

    if TYPE_CHECKING:
        # Attributes that are not fields: encoders would try to copy them.
        _data: ClassVar[ResultRows]
        _drawable: ClassVar[Any]

    def __len__(self) -> int:
        return self._data.length

    def __iter__(self) -> Iterator[dict[str, Any]]:
        data = self._data
        return iter(data.dicts()) if isinstance(data, ValueRows) else super().__iter__()

    def to_dicts(self) -> list[Row]:
        """All rows as dicts with Python values."""
        data = self._data
        return data.dicts() if isinstance(data, ValueRows) else super().to_dicts()

    def _display(self) -> Display:
        rows = [list(row.values()) for row in python_rows(self._data.head(SHOWN_ROWS))]
        where = f" at {self.commit_id}" if self.commit_id else ""
        title = f"{self.query_name}: {counted(len(self), 'row')}{where}"
        return Display(title, self.columns, rows, len(self) - len(rows))

    @property
    def schema(self) -> pa.Schema:
        """The columns and their Arrow types."""
        return self._data.schema

    @property
    def table(self) -> pa.Table:
        """All rows in memory."""
        return self._data.table()

    @property
    def stored_values(self) -> Sequence[tuple[Any, ...]] | None:
        """The rows as tuples in their stored forms, if a query over a few rows has left them so; columns of Arrow are
        made of them when they are wanted."""
        return self._data.values

    def arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return self.table

    def batches(self, rows_max: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows in Arrow batches, each computed on demand."""
        yield from self._data.batches(rows_max)

    def to_arrow(self) -> pa.Table:
        """The same as ``arrow``."""
        return self.table

    def to_batches(self, rows_max: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The same as ``batches``."""
        return self.batches(rows_max)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The same as ``to_dicts``."""
        return self.to_dicts()

    def to_pandas(self) -> pandas.DataFrame:
        """The same as ``df``."""
        return self.df()

    def to_polars(self) -> polars.DataFrame:
        """The same as ``pl``."""
        return self.pl()

    def draw(self, *, limit: int = 300, caption: Caption = None, height: int = 520) -> Picture:
        """An interactive picture of the nodes in the rows, and of the edges among them that the query follows.

        A column of nodes is one such as ``$p``, or ``$p.name`` where the name is the key. Options are those of
        ``graph.draw``.
        """
        from omnigraph.engine.picture.draw import DrawOptions, draw_nodes

        drawable: Drawable | None = self._drawable() if callable(self._drawable) else self._drawable
        if drawable is None or not drawable.columns:
            raise UsageError("the rows name no nodes", hint="return a node: `return { $p }`, or use graph.draw()")
        ids = drawable.nodes(self)
        options = DrawOptions(limit, caption, height)
        return draw_nodes(drawable.snapshot, ids, drawable.edges, self.query_name, options)

    def _sliced(self, start: int, stop: int) -> QueryResult:
        return self._with(self._data.slice(start, stop))

    def _selected(self, names: Sequence[str]) -> QueryResult:
        return self._with(self._data.select(names))

    def _with(self, rows: ResultRows) -> QueryResult:
        return QueryResult(self.query_name, rows, self.branch, self.commit_id, drawable=self._drawable)


def _plain_rows(result: QueryResult) -> list[dict[str, Any]]:
    return result_rows(result.table)


# A field that is computed: a dataclass has no word for it, and a property in its body would be taken for the default.
QueryResult.rows = property(_plain_rows)  # type: ignore[assignment] # see above
