"""The nodes that the rows of a result name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.engine.snapshot import Snapshot


@dataclass(frozen=True)
class Drawable:
    """Types by the column of their ids, and the edge types that the query follows.

    The rows of an analysis name their type in a column of their own, the ``type_column``.
    """

    snapshot: Snapshot
    columns: Mapping[str, str]
    edges: Sequence[str] = ()
    type_column: str | None = None

    def nodes(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
        """The ids of some rows by type, each once."""
        found: dict[str, dict[str, None]] = {}
        for row in rows:
            for column, type_name in self.columns.items():
                if row.get(column) is not None:
                    own = type_name if self.type_column is None else str(row[self.type_column])
                    found.setdefault(own, {})[row[column]] = None
        return {type_name: list(ids) for type_name, ids in found.items()}


Drawn = Drawable | Callable[[], Drawable] | None
"""The nodes of a result, or a function that finds them: few results are drawn."""
