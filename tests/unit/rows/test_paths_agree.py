"""The fast path reads what the exact path reads, or steps aside: same rows, same lines, same violations."""

import base64
import json

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.rows.omissions import Omissions
from omnigraph.rows.typed_rows import TypedRows, joined
from omnigraph.rows.violations import Violations
from tests.support.examples import examples
from tests.unit.rows.schemas import CATALOG, read, read_exactly
from tests.unit.rows.test_read_values import ACCEPTED, REFUSED

_GOOD = {prop: [value for name, value, _ in ACCEPTED if name == prop] for prop, _, _ in ACCEPTED}
_BAD = {prop: [value for value in values if len(value) < 100] for prop, values in REFUSED}
_NAMES = sorted(CATALOG.nodes["Every"].properties)


def _text(**options: int) -> st.SearchStrategy[str]:
    return st.text(**options).map(lambda text: json.dumps(text, ensure_ascii=False))


def _ascii_text() -> st.SearchStrategy[str]:
    return st.text(max_size=5).map(json.dumps)


_SCALARS: dict[str, st.SearchStrategy[str]] = {
    "s": _text(max_size=8) | _ascii_text(),
    "b": st.booleans().map(json.dumps),
    "i32": st.integers(-(2**31) - 2, 2**31 + 2).map(str),
    "i64": st.integers(-(2**63) - 2, 2**63 + 2).map(str),
    "u32": st.integers(-2, 2**32 + 2).map(str),
    "u64": st.integers(-2, 2**64 + 2).map(str),
    "f32": st.floats(width=32).map(json.dumps) | st.floats().map(json.dumps) | st.integers().map(str),
    "f64": st.floats().map(json.dumps) | st.integers().map(str),
    "d": st.dates().map(lambda day: json.dumps(day.isoformat())) | st.integers(-(2**32), 2**32).map(str),
    "t": st.datetimes().map(lambda moment: json.dumps(moment.isoformat() + "Z")) | st.integers().map(str),
    "v": st.lists(st.floats(width=32).map(json.dumps), min_size=2, max_size=4).map(lambda v: f"[{','.join(v)}]"),
    "x": st.binary(max_size=4).map(lambda b: '"base64:' + base64.b64encode(b).decode() + '"'),
}


def _value(prop: str) -> st.SearchStrategy[str]:
    good = st.sampled_from([*_GOOD[prop], "null"])
    own = _SCALARS.get(prop, good)
    bad = st.sampled_from(_BAD[prop]) if prop in _BAD else good
    return st.one_of(good, own, good, own, good, own, bad)


_PAIR = st.sampled_from(_NAMES).flatmap(lambda prop: _value(prop).map(lambda value: f'"{prop}":{value}'))
_ODD_PAIRS = ['"nope":1', '"id":"x"', '"id":7', '"id":null', '"_rowid":1']


@st.composite
def _data(draw: st.DrawFn) -> str:
    pairs = draw(st.lists(_PAIR, max_size=4, unique_by=lambda pair: pair.split(":")[0]))
    if draw(st.integers(0, 9)) == 0:
        pairs.append(draw(st.sampled_from(_ODD_PAIRS) | _PAIR))
    return "{" + ",".join(pairs) + "}"


@st.composite
def _line(draw: st.DrawFn) -> str:
    match draw(st.integers(0, 9)):
        case 0 | 1 | 2 | 3:
            return f'{{"type":"Every","data":{draw(_data())}}}'
        case 4:
            return f'{{"type": "Every", "data": {draw(_data())}}}'
        case 5 | 6:
            name, age = draw(_text(max_size=4)), draw(st.sampled_from(["1", "null", "-0", "2.0"]))
            return f'{{"type":"Person","data":{{"name":{name},"age":{age}}}}}'
        case 7:
            ends = f'"from":{draw(_text(max_size=2))},"to":{draw(_text(max_size=2))}'
            data = draw(st.sampled_from(["", ',"data":{}', ',"data":null', ',"data":{"since":3}']))
            return f'{{"edge":"Knows",{ends}{data}}}'
        case 8:
            tenant, number = draw(_text(max_size=3)), draw(st.integers(-3, 3))
            return f'{{"type":"Pair","data":{{"tenant":{tenant},"number":{number}}}}}'
        case _:
            odd = [
                "",
                " ",
                "{}",
                '{"type":"No"}',
                '{"data":{},"type":"Every"}',
                '{"type":"Every"}',
                '{"type":"Strict"}',
            ]
            return draw(st.sampled_from(odd))


@st.composite
def _files(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(_line(), max_size=8))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode("utf-8", "surrogatepass")


@st.composite
def _mutated(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(_files()))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        if draw(st.booleans()):
            del data[at : at + draw(st.integers(1, 3))]
        else:
            data[at:at] = draw(
                st.sampled_from([b"\n", b"{", b"}", b'"', b",", b"\\", b"\0", b"\xff", b"1", b" ", b"-"])
            )
    return bytes(data)


def _facts(found: tuple[list[TypedRows], Violations]) -> tuple[object, ...]:
    rows, violations = found
    tables: dict[str, list[TypedRows]] = {}
    for piece in rows:
        tables.setdefault(piece.table_key, []).append(piece)
    content = {}
    for key, pieces in tables.items():
        whole = joined(pieces)
        whole.batch.validate(full=True)
        ids = ["minted" if text.startswith("minted-") else text for text in whole.batch.column("id").to_pylist()]
        columns = {name: _exact(whole.batch.column(name)) for name in whole.batch.schema.names[1:]}
        omitted = whole.omitted if whole.omitted is not None and whole.omitted.any() else None
        content[key] = (ids, columns, whole.lines.to_pylist(), None if omitted is None else omitted.tolist())
    return content, violations.samples, dict(violations.counts), violations.total


def _exact(column: pa.Array) -> str:
    """The cells as text: it tells -0.0 from 0.0, and numbers know dates beyond Python's calendar."""
    kind = column.type
    item = kind.value_type if pa.types.is_list(kind) else kind
    if pa.types.is_temporal(item):
        number = pa.int32() if pa.types.is_date32(item) else pa.int64()
        column = column.cast(pa.list_(number) if pa.types.is_list(kind) else number)
    return repr(column.to_pylist())


_NAMED = [
    b'{"type":"Every","data":{"s":null}}\n{"type":"Every","data":{}}\n{"type":"Every","data":{"s":"\\"s\\":"}}',
    b'{"type":"Every","data":{"\\u0073":null}}\n{"type":"Every","data":{}}',
    b'{"edge":"Knows","data":{"id":"k","since":null}}\n{"edge":"Knows","from":"a","data":{"id":"l"}}',
    b'{"type":"Strict","data":{"id":"x"}}\n{"type":"Strict","data":{"id":"y","n":null}}\n{"type":"Strict","data":{"n":1}}',
    b'{"type":"Pair","data":{"id":"x","note":"n"}}\n{"type":"Pair","data":{"tenant":"t","number":1}}',
]


@pytest.mark.parametrize("omissions", Omissions)
@pytest.mark.parametrize("data", _NAMED)
def test_both_paths_agree_on_what_a_line_does_not_name(data: bytes, omissions: Omissions) -> None:
    assert _facts(read(data, omissions=omissions)) == _facts(read_exactly(data, omissions=omissions))


@examples(400)
@given(_files(), st.sampled_from(Omissions))
@example(b'{"type":"Every","data":{"f64":-0}}\n{"type":"Every","data":{"f64":-0.0}}', Omissions.NOTED)
@example(
    b'{"type":"Every","data":{}} {"type":"Every","data":{}}\n{"type":"Every","data":\n{"type":"Every"}}',
    Omissions.NOTED,
)
@example(b'{"type":"Every","data":{"f32":1.00000017881393432617187499}}', Omissions.NOTED)
@example(b'{"type":"Every","data":{"f64":NaN}}\n{"type":"Every","data":{"f64":Infinity}}', Omissions.NOTED)
@example(
    b'{"type":"Every","data":{"t":"2020-01-01T00Z"}}\n{"type":"Every","data":{"t":"2020-01-01T00:00+01:00"}}',
    Omissions.NOTED,
)
@example(b'{"edge":"Knows","from":"a","to":"b"}\n{"edge":"KNOWS","from":"a","to":"b","data":{}}', Omissions.NOTED)
@example(
    b'{"edge":"Knows","from":"a","to":"b","data":{"since":1}}\n{"edge":"Knows","from":"a","to":"b","data" : null}',
    Omissions.NOTED,
)
def test_both_paths_agree_on_generated_files(data: bytes, omissions: Omissions) -> None:
    assert _facts(read(data, omissions=omissions)) == _facts(read_exactly(data, omissions=omissions))


@examples(600)
@given(_mutated())
def test_both_paths_agree_on_damaged_files(data: bytes) -> None:
    assert _facts(read(data)) == _facts(read_exactly(data))


@examples(100)
@given(st.lists(_SCALARS["f32"], min_size=1, max_size=20))
def test_both_paths_round_floats_alike(values: list[str]) -> None:
    data = "\n".join(f'{{"type":"Every","data":{{"f32":{value},"f64":{value}}}}}' for value in values).encode()
    assert _facts(read(data)) == _facts(read_exactly(data))
