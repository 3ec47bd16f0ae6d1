"""An export is the load format, loses nothing, and loads again into the same rows."""

import json
import math
import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.temporal import DAYS_RANGE, MILLISECONDS_RANGE
from omnigraph.errors import InputError
from omnigraph.rows.arrow_types import table_schema
from omnigraph.rows.write.json import write_lines
from omnigraph.schema.catalog import EdgeType, NodeType
from tests.unit.rows.schemas import CATALOG, read, read_exactly

EVERY = CATALOG.nodes["Every"]


def _batch(entity: NodeType | EdgeType, rows: list[dict[str, object]]) -> pa.RecordBatch:
    schema = table_schema(entity)
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _written(entity: NodeType | EdgeType, rows: list[dict[str, object]]) -> bytes:
    return b"".join(write_lines(entity, [_batch(entity, rows)]))


def test_a_node_line_has_the_id_and_every_property_in_order() -> None:
    line = _written(CATALOG.nodes["Person"], [{"id": "A", "name": "A", "age": 3, "born": 1, "seen": 2}])
    assert line == (
        b'{"type":"Person","data":{"id":"A","age":3,"born":1,"name":"A","score":null,"seen":2,"tags":null}}\n'
    )


def test_an_edge_line_names_its_ends_outside_the_data() -> None:
    line = _written(CATALOG.edges["Knows"], [{"id": "e", "src": "a", "dst": 'b"', "since": None}])
    assert line == b'{"edge":"Knows","from":"a","to":"b\\"","data":{"id":"e","since":null}}\n'


@pytest.mark.parametrize(
    ("prop", "value", "text"),
    [
        ("s", 'a"\\\n\0é\u2028😀', '"a\\"\\\\\\n\\u0000é\u2028😀"'),
        ("b", True, "true"),
        ("i64", -(2**63), "-9223372036854775808"),
        ("u64", 2**64 - 1, "18446744073709551615"),
        ("f64", 1.0, "1.0"),
        ("f64", -0.0, "-0.0"),
        ("f64", 0.1, "0.1"),
        ("f64", 1e300, "1e+300"),
        ("f32", 0.1, "0.1"),
        ("d", -1, "-1"),
        ("t", -1, "-1"),
        ("x", b"hi", '"base64:aGk="'),
        ("x", b"", '"base64:"'),
        ("v", [1, 0.5, -2], "[1.0,0.5,-2.0]"),
        ("ls", ["a,", None, '"'], '["a,",null,"\\""]'),
        ("ls", [], "[]"),
        ("ld", [1, None], "[1,null]"),
        ("lb", [True, False], "[true,false]"),
        ("e", "red", '"red"'),
    ],
)
def test_every_type_has_its_encoding(prop: str, value: object, text: str) -> None:
    [line] = (
        _written(EVERY, [{"id": "x", prop: value}]).decode().splitlines(keepends=False)
        if "\u2028" not in text
        else [_written(EVERY, [{"id": "x", prop: value}]).decode()[:-1]]
    )
    assert f'"{prop}":{text}' in line
    json.loads(line)


@pytest.mark.parametrize(("prop", "value"), [("f64", math.nan), ("f32", math.inf), ("lf", [1.0, -math.inf])])
def test_a_number_json_lacks_is_an_error_that_names_the_entity(prop: str, value: object) -> None:
    with pytest.raises(InputError, match=f"Every.{prop} of 'b'"):
        _written(EVERY, [{"id": "a"}, {"id": "b", prop: value}])


def _floats(width: int) -> st.SearchStrategy[float]:
    return st.floats(width=width, allow_nan=False, allow_infinity=False)  # type: ignore[arg-type]


_VALUES: dict[str, st.SearchStrategy[object]] = {
    "s": st.text(),
    "b": st.booleans(),
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i64": st.integers(-(2**63), 2**63 - 1),
    "u32": st.integers(0, 2**32 - 1),
    "u64": st.integers(0, 2**64 - 1),
    "f32": _floats(32),
    "f64": _floats(64),
    "d": st.integers(*DAYS_RANGE),
    "t": st.integers(*MILLISECONDS_RANGE),
    "x": st.binary(),
    "v": st.lists(_floats(32), min_size=3, max_size=3),
    "e": st.sampled_from(["red", "green"]),
    "ls": st.lists(st.text()),
    "li": st.lists(st.integers(-(2**63), 2**63 - 1)),
    "lf": st.lists(_floats(32)),
    "ld": st.lists(st.integers(*DAYS_RANGE)),
    "lt": st.lists(st.integers(*MILLISECONDS_RANGE)),
    "lb": st.lists(st.booleans()),
}
_ROW = st.fixed_dictionaries({"id": st.text()}, optional={name: st.none() | v for name, v in _VALUES.items()})


@given(st.lists(_ROW, min_size=1, max_size=6))
def test_an_export_loads_again_into_the_same_rows_by_both_paths(rows: list[dict[str, object]]) -> None:
    batch = _batch(EVERY, rows)
    exported = b"".join(write_lines(EVERY, [batch]))
    for found, violations in (read(exported), read_exactly(exported)):
        assert not violations.total
        [piece] = found
        # The bytes tell -0.0 from 0.0.
        assert piece.batch.equals(batch, check_metadata=True)
        assert str(piece.batch.column("f64")) == str(batch.column("f64"))


@given(st.lists(_ROW, min_size=2, max_size=6), st.integers(0, 5), st.integers(1, 5))
def test_a_slice_is_written_as_its_own_rows(rows: list[dict[str, object]], start: int, size: int) -> None:
    batch = _batch(EVERY, rows)
    lines = b"".join(write_lines(EVERY, [batch])).split(b"\n")[:-1]
    part = b"".join(write_lines(EVERY, [batch.slice(start, size)])).split(b"\n")[:-1]
    assert part == lines[start : start + size]


def test_wide_rows_are_written_in_several_chunks() -> None:
    rows: list[dict[str, object]] = [{"id": str(n), "x": bytes(3 << 20)} for n in range(12)]
    chunks = list(write_lines(EVERY, [_batch(EVERY, rows)]))
    assert len(chunks) > 1
    assert all(chunk.endswith(b"}}\n") for chunk in chunks)
    assert b"".join(chunks).count(b"\n") == 12


def test_digits_that_would_be_rounded_twice_are_written_out() -> None:
    # Every narrow float must come back, also those whose shortest digits lie next to the middle of two floats.
    value = struct.unpack("f", struct.pack("I", 0x15AE43FD))[0]
    exported = _written(EVERY, [{"id": "x", "f32": value}])
    assert read(exported)[0][0].batch.column("f32").to_pylist() == [value]
