"""A graph with people, whose orders are rows of Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import omnigraph

ORDERS = pa.schema([("no", pa.int64()), ("total", pa.float64()), ("note", pa.string())])


def order(number: int, total: float | None = None, note: str | None = None) -> dict[str, Any]:
    return {"no": number, "total": number * 1.5 if total is None else total, "note": note or f"gift number {number}"}


def write_rows(path: Path, rows: list[dict[str, Any]], schema: pa.Schema | None = None, group_rows: int = 3) -> None:
    """A Parquet file of these rows, in small row groups."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, row_group_size=group_rows)


@dataclass
class Shop:
    """The graph, and the directory of its orders."""

    graph: omnigraph.Graph
    orders: Path

    @classmethod
    def create(cls, directory: Path) -> Shop:
        orders = directory / "orders"
        write_rows(orders / "a.parquet", [order(number) for number in range(1, 6)], ORDERS)
        graph = omnigraph.create(directory / "shop.omni", cls.schema(orders), durability="os")
        graph.load(
            [
                *({"type": "Person", "data": {"name": name}} for name in ("ann", "bob")),
                {"edge": "Likes", "from": "ann", "to": "1", "data": {"id": "l1"}},
                {"edge": "Likes", "from": "bob", "to": "2", "data": {"id": "l2"}},
            ]
        )
        return cls(graph, orders)

    @staticmethod
    def schema(orders: Path) -> str:
        return f"""
node Person {{ name: String @key }}
node Order @external("{orders}/*.parquet") {{ no: I64 @key total: F64? note: String? }}
edge Likes: Person -> Order
"""

    def write(self, name: str, *numbers: int, total: float | None = None) -> None:
        """Replace one file of the orders."""
        write_rows(self.orders / f"{name}.parquet", [order(number, total) for number in numbers], ORDERS)

    def remove(self, name: str) -> None:
        (self.orders / f"{name}.parquet").unlink()

    def numbers(self, **where: Any) -> list[int]:
        """The numbers of all orders, ascending."""
        text = "query q() { match { $o: Order } return { $o.no as no } order { no } }"
        return [row["no"] for row in self.graph.query(text, **where).to_pylist()]
