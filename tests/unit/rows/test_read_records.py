"""The strict reader: what a record is, which ids it gets, and what is wrong with one that is none."""

import json
import tracemalloc
from collections.abc import Iterator

import pytest

from omnigraph.rows.arrow_types import table_schema
from omnigraph.rows.limits import BLOCK_BYTES, LINE_BYTES_MAX, STRUCTURAL_TOKENS_MAX
from omnigraph.rows.read.json import read_lines
from omnigraph.rows.read.json_lines import blocks
from omnigraph.rows.violations import ViolationCode, Violations
from tests.unit.rows.schemas import CATALOG, minting, one, read, read_dicts, refused

PERSON = '{"type":"Person","data":{"name":"A"}}'
M, U, K = ViolationCode.MALFORMED, ViolationCode.UNKNOWN_PROPERTY, ViolationCode.KEY

WRONG = [
    ("{", M, "column 2"),
    ("}", M, "column 1"),
    ("nonsense", M, "column 1"),
    ('{"type":"Person","data":{"name":"A"}', M, "invalid JSON"),
    (PERSON + PERSON, M, "Extra data at column 38"),
    (PERSON + " x", M, "Extra data"),
    (PERSON + ",", M, "Extra data"),
    ('{"type":"Person","data":{"name":"A",}}', M, "invalid JSON"),
    ('{"type":"Person","data":{"name":"A\t"}}', M, "control character"),
    ('{"type":"Person","data":{"name":"\\x"}}', M, "escape"),
    ("{'type':'Person'}", M, "invalid JSON"),
    ('{"type":"Person","data":{"name":"A","score":NaN}}', M, "NaN"),
    ('{"type":"Person","data":{"name":"A","score":-Infinity}}', M, "Infinity"),
    ('{"type":"Person","data":{"name":"A","age":01}}', M, "invalid JSON"),
    ('{"type":"Person","data":{"name":"A","age":+1}}', M, "invalid JSON"),
    ('{"type":"Person","data":{"name":"A","age":.5}}', M, "invalid JSON"),
    ("[1]", M, "expected an object, got an array"),
    ('"Person"', M, "expected an object"),
    ("null", M, "expected an object, got null"),
    ("[" * 100_000, M, "nested too deeply"),
    ('{"a":' * 10_000, M, "nested too deeply"),
    ("{}", M, "neither"),
    ('{"data":{}}', M, "neither"),
    ('{"type":1}', M, "name of a type"),
    ('{"edge":null,"from":"a","to":"b"}', M, "name of a type"),
    ('{"type":"Person","edge":"Knows","data":{"name":"A"}}', M, "unexpected key 'edge'"),
    ('{"type":"Person","id":"A","data":{"name":"A"}}', M, "unexpected key 'id'"),
    ('{"edge":"Knows","from":"a","to":"b","type2":1}', M, "unexpected key 'type2'"),
    ('{"type":"Person","data":null}', M, '"data" must be an object, got null'),
    ('{"type":"Person","data":[]}', M, '"data" must be an object'),
    ('{"type":"Person","type":"Person","data":{"name":"A"}}', M, "'type' occurs twice"),
    ('{"type":"Person","data":{"name":"A","name":"A"}}', M, "'name' occurs twice"),
    ('{"type":"Person","data":{"name":"A","n\\u0061me":"A"}}', M, "'name' occurs twice"),
    ('{"type":"Person","data":{"name":"A","age":{"x":[{"y":1,"y":1}]}}}', M, "'y' occurs twice"),
    ('{"type":"person","data":{"name":"A"}}', ViolationCode.UNKNOWN_TYPE, "unknown node type 'person'"),
    ('{"type":"Knows","data":{}}', ViolationCode.UNKNOWN_TYPE, "unknown node type"),
    ('{"edge":"Person","from":"a","to":"b"}', ViolationCode.UNKNOWN_TYPE, "unknown edge type"),
    ('{"edge":"Knows","to":"b"}', ViolationCode.REQUIRED, 'missing "from"'),
    ('{"edge":"Knows","from":"a","to":null}', ViolationCode.REQUIRED, 'missing "to"'),
    ('{"edge":"Knows","from":1,"to":"b"}', ViolationCode.TYPE, '"from" must be the id'),
    ('{"edge":"Knows","from":"a","to":"\\ud800"}', ViolationCode.TYPE, "surrogate"),
    ('{"type":"Person","data":{"name":"A","agee":1}}', U, "unknown property 'agee' of Person"),
    ('{"type":"Person","data":{"name":"A","_tombstone":true}}', U, "reserved"),
    ('{"type":"Person","data":{"name":"A","_rowid":1}}', U, "reserved"),
    ('{"edge":"Knows","from":"a","to":"b","data":{"src":"a"}}', U, '"from" and "to"'),
    ('{"type":"Person","data":{"name":"A","id":"B"}}', K, "differs from 'A'"),
    ('{"type":"Pair","data":{"tenant":"t","number":7,"id":"[\\"t\\",\\"7\\"]"}}', K, "(number, tenant)"),
    ('{"type":"Person","data":{"name":"A","id":7}}', ViolationCode.TYPE, '"id" of Person'),
    ('{"edge":"Knows","from":"a","to":"b","data":{"id":7}}', ViolationCode.TYPE, '"id" of Knows'),
]


@pytest.mark.parametrize(("line", "code", "gist"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_record_is_one_violation_with_its_line_and_the_rest_is_read(
    line: str, code: ViolationCode, gist: str
) -> None:
    good = ['{"type":"Person","data":{"name":"B"}}', '{"type":"Person","data":{"name":"C"}}']
    rows, violations = read("\n".join([good[0], line, good[1]]))
    [found] = violations.samples
    assert found.code is code
    assert gist in found.message
    assert str(found.place) == "f.jsonl:2"
    [people] = rows
    assert people.batch.column("id").to_pylist() == ["B", "C"]
    assert people.lines.to_pylist() == [1, 3]


def test_everything_wrong_with_one_record_is_reported() -> None:
    found = refused('{"type":"Person","data":{"age":"x","born":true,"zz":1}}')
    assert {(item.code.value, item.property) for item in found} == {
        ("unknown_property", "zz"),
        ("type", "age"),
        ("type", "born"),
        ("required", "name"),
    }


def test_rows_have_exactly_the_columns_of_their_table() -> None:
    rows, _ = read(PERSON + '\n{"edge":"Knows","from":"A","to":"A"}\n{"type":"Every"}')
    for piece in rows:
        assert piece.batch.schema.equals(table_schema(piece.entity), check_metadata=True)
        assert piece.batch.validate(full=True) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"type":"Person","data":{"name":"A"}}', "A"),
        ('{"type":"Person","data":{"name":"A","id":"A"}}', "A"),
        ('{"type":"Person","data":{"name":"A","id":null}}', "A"),
        ('{"type":"Pair","data":{"tenant":"acme","number":7}}', '["7","acme"]'),
        ('{"type":"Pair","data":{"tenant":"acme","number":7,"id":"[\\"7\\",\\"acme\\"]"}}', '["7","acme"]'),
        ('{"type":"Every","data":{"id":"mine"}}', "mine"),
        ('{"type":"Every","data":{"id":""}}', ""),
        ('{"type":"Every"}', "minted-000001"),
        ('{"type":"Every","data":{"id":null}}', "minted-000001"),
        ('{"edge":"Knows","from":"a","to":"b"}', "minted-000001"),
        ('{"edge":"kNOWS","from":"a","to":"b","data":{"id":"e"}}', "e"),
    ],
)
def test_ids_are_derived_from_the_key_or_given_or_minted(line: str, expected: str) -> None:
    assert one(line)["id"] == expected


def test_edges_name_their_ends_from_and_to_and_order_does_not_matter() -> None:
    row = one('{"to":"b","data":{"since":"2020-01-01"},"from":"a","edge":"Knows"}')
    assert (row["src"], row["dst"]) == ("a", "b")


@pytest.mark.parametrize("end", ["\n", "\r\n", " \t\r\n", ""])
@pytest.mark.parametrize("start", ["", "\n\n", "\r\n \t\n", "\ufeff"])
def test_line_ends_blank_lines_and_a_byte_order_mark_do_not_matter(start: str, end: str) -> None:
    rows, violations = read(start + PERSON + end + ("\n" if not end else "") + PERSON.replace("A", "B") + end)
    assert not violations.total
    first = 1 + start.count("\n")
    assert rows[0].lines.to_pylist() == [first, first + 1]


@pytest.mark.parametrize(
    ("line", "gist"),
    [
        (b'{"type":"Person","data":{"name":"\xff"}}', "UTF-8 at byte 34"),
        (b'{"type":"Person","data":{"name":"\xed\xa0\x80"}}', "UTF-8"),
        (b'{"type":"Person","data":{"name":"a\x00b"}}', "control character"),
        (PERSON.encode() + b"\x00" + PERSON.encode(), "Extra data"),
        (b"\xef\xbb\xbf" + PERSON.encode(), "column 1"),
        (PERSON.encode("utf-16"), "UTF-8"),
        (b"\x0b", "column 1"),
    ],
)
def test_bytes_that_are_no_json_are_located(line: bytes, gist: str) -> None:
    rows, violations = read(PERSON.encode() + b"\n" + line + b"\n")
    assert rows[0].batch.num_rows == 1
    [found] = violations.samples
    assert found.code is M
    assert gist in found.message
    assert found.place is not None
    assert found.place.line == 2


def test_a_cut_off_last_line_is_malformed() -> None:
    rows, violations = read(PERSON + "\n" + PERSON[:-5])
    assert (rows[0].batch.num_rows, violations.total) == (1, 1)


def test_a_line_longer_than_the_limit_is_skipped_without_being_held() -> None:
    def chunks() -> Iterator[bytes]:
        yield PERSON.encode() + b'\n{"type":"Person","data":{"name":"'
        for _ in range(LINE_BYTES_MAX // (1 << 20) * 2):
            yield b"x" * (1 << 20)
        yield b'"}}\n' + PERSON.replace("A", "B").encode()

    tracemalloc.start()
    rows, violations = read(chunks())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    [found] = violations.samples
    assert (found.code, str(found.place)) == (M, "f.jsonl:2")
    assert str(LINE_BYTES_MAX) in found.message
    assert rows[0].batch.column("id").to_pylist() == ["A", "B"]
    assert rows[0].lines.to_pylist() == [1, 3]
    assert peak < 2 * LINE_BYTES_MAX


def test_the_longest_allowed_line_is_read_and_one_byte_more_is_not() -> None:
    frame = '{"type":"Person","data":{"name":"%s"}}'
    longest = frame % ("x" * (LINE_BYTES_MAX - len(frame) + 2))
    assert len(longest) == LINE_BYTES_MAX
    assert read(longest)[0][0].batch.num_rows == 1
    assert "longer" in refused(longest.replace("x", "xx", 1))[0].message


def test_a_line_with_too_many_structural_tokens_is_refused_but_the_text_of_strings_does_not_count() -> None:
    items = ",".join(["0"] * STRUCTURAL_TOKENS_MAX)
    [found] = refused(f'{{"type":"Every","data":{{"li":[{items}]}}}}')
    assert found.code is M
    assert str(STRUCTURAL_TOKENS_MAX) in found.message
    text = ',\\"{' * STRUCTURAL_TOKENS_MAX
    assert one(f'{{"type":"Every","data":{{"s":"{text}"}}}}')["s"] == text.replace("\\", "")


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
def test_chunks_may_be_cut_anywhere(size: int) -> None:
    data = "".join(f'{{"type":"Person","data":{{"name":"é{n}"}}}}\r\n\n' for n in range(40)).encode()
    rows, violations = read([data[start : start + size] for start in range(0, len(data), size)])
    assert not violations.total
    assert rows[0].lines.to_pylist() == list(range(1, 81, 2))


def test_blocks_are_whole_lines_with_the_right_numbers() -> None:
    line = b"x" * 1000 + b"\n"
    data = line * (3 * BLOCK_BYTES // len(line)) + b"end"
    found = list(blocks([data], lambda _: None))
    assert b"".join(block.data for block in found) == data
    assert len(found) >= 3
    assert max(len(block.data) for block in found) <= 2 * BLOCK_BYTES
    at = 1
    for block in found:
        assert block.first_line == at
        at += block.data.count(b"\n")


def test_batches_are_full_and_keep_the_order_of_the_lines() -> None:
    lines = [json.dumps({"type": "Person", "data": {"name": str(n)}}) for n in range(1000)]
    rows, _ = read("\n".join(lines), batch_rows=300)
    assert [piece.batch.num_rows for piece in rows] == [300, 300, 300, 100]
    assert [name for piece in rows for name in piece.batch.column("name").to_pylist()] == [str(n) for n in range(1000)]


def test_rows_of_one_type_stay_in_order_when_only_some_are_unusual() -> None:
    lines = [f'{{"type":"Person","data":{{"name":"{n}"}}}}' for n in range(9)]
    lines[4] = ' {"data":{"name":"4"},"type":"Person"}'
    rows, violations = read("\n".join(lines))
    assert not violations.total
    assert rows[0].batch.column("name").to_pylist() == [str(n) for n in range(9)]
    assert rows[0].lines.to_pylist() == list(range(1, 10))


def test_memory_is_bounded_whatever_the_size_of_the_input() -> None:
    line = json.dumps({"type": "Person", "data": {"name": "n" * 200}}).encode() + b"\n"
    chunk = line * 4000

    def peak_of(chunks: int) -> int:
        tracemalloc.start()
        total = 0
        for piece in read_lines(
            (chunk for _ in range(chunks)),
            catalog=CATALOG,
            source="f",
            mint_ids=minting(),
            violations=Violations(),
            batch_rows=5000,
        ):
            total += piece.batch.num_rows
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert total == 4000 * chunks
        return peak

    assert peak_of(40) < 1.5 * peak_of(10)


def test_records_that_are_no_dicts_are_malformed_with_their_number() -> None:
    _, violations = read_dicts([{"type": "Every"}, 7, {"type": "Every", "data": None}])  # type: ignore[list-item]
    assert [(item.code, item.place and item.place.line) for item in violations.samples] == [(M, 2), (M, 3)]
