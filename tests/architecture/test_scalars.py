"""A scalar type is a row in every table that this list names, and nowhere else a case of its own.

To add a scalar: add its row to `core/scalars.py`, run this test, and add the rows it names.
"""

import ast
import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from omnigraph.core.scalars import SCALARS, Family, Scalar, ScalarInfo
from omnigraph.rows.arrow_types import ARROW_TYPES
from omnigraph.rows.write.json import write_lines
from omnigraph.storage.tables.filters import LITERALS
from tests.architecture.source_tree import modules
from tests.unit.rows.schemas import catalog, read, read_exactly


def _every(_: ScalarInfo) -> bool:
    return True


def _comparable(info: ScalarInfo) -> bool:
    return info.is_comparable


def _single(info: ScalarInfo) -> bool:
    """Every scalar but a vector, which these tables' owners take apart first."""
    return info.is_listable


def _temporal(info: ScalarInfo) -> bool:
    return info.family in (Family.TEMPORAL, Family.TIME, Family.DURATION)


@dataclass(frozen=True)
class Table:
    """A table with a row for each scalar that `wanted` holds for."""

    module: str
    name: str
    wanted: Callable[[ScalarInfo], bool]

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    @property
    def rows(self) -> dict[Scalar, object]:
        rows: dict[Scalar, object] = getattr(importlib.import_module(f"omnigraph.{self.module}"), self.name)
        return rows


TABLES = (
    Table("core.scalars", "SCALARS", _every),
    Table("query.types.literals", "TEXTS", _temporal),
    Table("lake.external.filtering", "BOUNDS", _comparable),
    Table("policy.data.entity_types", "ATTRIBUTE_TYPES", _every),
    Table("query.operation", "KINDS", _every),
    Table("query.types.supplied", "READERS", _single),
    Table("rows.casting.arrow_casts", "CASTS", _single),
    Table("rows.arrow_types", "ARROW_TYPES", _every),
    Table("rows.casting.column_values", "PARSING", _every),
    Table("rows.casting.json_values", "CONVERTERS", _single),
    Table("rows.keys", "TEXTS", _comparable),
    Table("rows.write.json", "ISO_TEXTS", _temporal),
    Table("rows.write.json", "TEXTS", _every),
    Table("spark.cluster.spark_types", "SPARK_TYPES", _every),
    Table("spark.query.expressions", "LITERALS", _single),
    Table("spark.source.filters", "COMPARISONS", _comparable),
)

# A JSON value of every scalar: what is read, stored and written again below.
SAMPLES: dict[Scalar, Any] = {
    Scalar.STRING: 'Zoë "Z"',
    Scalar.BLOB: "base64:AAEC",
    Scalar.BOOL: True,
    Scalar.I32: -(2**31),
    Scalar.I64: -(2**63),
    Scalar.U32: 2**32 - 1,
    Scalar.U64: 2**64 - 1,
    Scalar.F32: 0.5,
    Scalar.F64: 1e300,
    Scalar.DATETIME: 1_700_000_000_123,
    Scalar.DATE: 19_700,
    Scalar.VECTOR: [0.5, -1.0],
    Scalar.DECIMAL: "-12345678.90",
    Scalar.TIME: "23:59:59.999",
    Scalar.DURATION: "-P1DT2H0.5S",
    Scalar.UUID: "0188b5f0-0000-7000-8000-0123456789ab",
    Scalar.JSON: {"a": [1, 2.5, None, {"b": "é"}]},
}


def missing_rows(tables: tuple[Table, ...]) -> list[str]:
    """`package:TABLE has no row for Scalar`, for every row that is missing."""
    return [
        f"{table} has no row for {scalar.value}"
        for table in tables
        for scalar, info in SCALARS.items()
        if table.wanted(info) and scalar not in table.rows
    ]


def test_every_scalar_has_a_row_in_every_table() -> None:
    assert not missing_rows(TABLES)


def test_a_missing_row_is_named_with_its_table_and_scalar() -> None:
    # Keys have no row for a blob: asking for all rows must find that.
    assert missing_rows((Table("rows.keys", "TEXTS", _every),)) == [
        "rows.keys:TEXTS has no row for Blob",
        "rows.keys:TEXTS has no row for Vector",
        "rows.keys:TEXTS has no row for Json",
    ]


def test_no_table_has_a_row_that_is_never_read() -> None:
    found = [
        f"{table}: {scalar.value}" for table in TABLES for scalar in table.rows if not table.wanted(SCALARS[scalar])
    ]
    assert not found


def test_every_table_of_scalars_is_on_the_list() -> None:
    listed = {f"{table.module.replace('.', '/')}.py:{table.name}" for table in TABLES}
    found = {f"{module.path}:{name}" for module in modules() for name in _tables(module.tree)}
    assert found == listed


def _tables(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=[first, *_]))
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict(keys=[first, *_]))
            ) if first is not None and _is_scalar(first):
                yield name


def test_no_code_branches_over_scalars() -> None:
    # A chain of cases is a table that a new scalar falls through.
    found = [
        f"{module.path}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.MatchValue) and _is_scalar(node.value)
    ]
    assert not found


def _is_scalar(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="Scalar"), attr=name):
            return name in Scalar.__members__
        case _:
            return False


def test_every_scalar_that_can_be_compared_is_a_literal_of_a_storage_filter() -> None:
    # Storage knows Arrow types only, so its table has their keys.
    wanted = {ARROW_TYPES[scalar] for scalar, info in SCALARS.items() if info.is_comparable}
    assert wanted == LITERALS.keys()


@pytest.mark.parametrize("scalar", Scalar, ids=lambda scalar: scalar.value)
def test_a_value_of_every_scalar_is_written_as_it_was_read(scalar: Scalar) -> None:
    type_ = {Scalar.VECTOR: "Vector(2)", Scalar.DECIMAL: "Decimal(10, 2)"}.get(scalar, scalar.value)
    schema = catalog(f"node Sample {{ value: {type_}? }}")
    line = json.dumps({"type": "Sample", "data": {"id": "one", "value": SAMPLES[scalar]}}).encode()
    for read_path in (read, read_exactly):
        rows, violations = read_path(line, schema)
        assert not violations.samples
        [written] = write_lines(schema.nodes["Sample"], [rows[0].batch])
        assert json.loads(written) == json.loads(line)
