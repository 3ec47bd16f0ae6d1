"""A schema with one property of every type, and short ways from records to rows."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import count, islice
from typing import Any

import pyarrow as pa

from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.rows.omissions import Omissions
from omnigraph.rows.read.json import read_lines, read_objects
from omnigraph.rows.read.json_lines import Malformed, is_blank, parse_line
from omnigraph.rows.read.json_records import RecordReader
from omnigraph.rows.read.minting import MintIds
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Violation, Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept

DOMAIN = "01J0000000000000000000000D"

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    born: Date?
    seen: DateTime?
    tags: [String]?
    score: F64?
}
node Every {
    s: String?
    b: Bool?
    i32: I32?
    i64: I64?
    u32: U32?
    u64: U64?
    f32: F32?
    f64: F64?
    d: Date?
    t: DateTime?
    x: Blob?
    v: Vector(3)?
    e: enum(red, green)?
    ls: [String]?
    li: [I64]?
    lf: [F32]?
    ld: [Date]?
    lt: [DateTime]?
    lb: [Bool]?
}
node Strict {
    n: I32
    v: Vector(2)
    l: [I32]
}
node Pair {
    tenant: String
    number: I64
    note: String?
    @key(tenant, number)
}
edge Knows: Person -> Person { since: Date? }
edge Likes: Person -> Every
"""


def catalog(text: str = SCHEMA) -> Catalog:
    return Catalog(accept(parse_schema(Source(text, "test.pg")), domain=DOMAIN, previous=None))


CATALOG = catalog()


def minting() -> MintIds:
    numbers = count(1)
    return lambda wanted: "".join(f"minted-{number:06}" for number in islice(numbers, wanted))


def read(
    text: str | bytes | Iterable[bytes], schema: Catalog = CATALOG, **options: Any
) -> tuple[list[TypedRows], Violations]:
    data = text.encode() if isinstance(text, str) else text
    chunks = [data] if isinstance(data, bytes) else data
    violations = Violations()
    rows = read_lines(
        chunks,
        catalog=schema,
        source="f.jsonl",
        mint_ids=minting(),
        violations=violations,
        **options,
    )
    return good_rows(rows, violations), violations


def good_rows(rows: Iterable[TypedRows], violations: Violations) -> list[TypedRows]:
    """The rows without a violation: the readers give the others too, with holes, to be compared with other rows."""
    given = list(rows)
    places = {None if sample.place is None else sample.place.line for sample in violations.samples}
    good = []
    for typed in given:
        keep = [number for number, line in enumerate(typed.lines.to_pylist()) if line not in places]
        assert typed.has_holes or len(keep) == len(typed.lines)
        if keep and None not in places:
            good.append(replace(typed.take(pa.array(keep)), has_holes=False))
    return good


def read_dicts(records: Iterable[dict[str, object]], schema: Catalog = CATALOG) -> tuple[list[TypedRows], Violations]:
    violations = Violations()
    rows = read_objects(
        records,
        catalog=schema,
        source="records",
        mint_ids=minting(),
        violations=violations,
    )
    return good_rows(rows, violations), violations


def read_exactly(
    data: bytes, schema: Catalog = CATALOG, omissions: Omissions = Omissions.IGNORED
) -> tuple[list[TypedRows], Violations]:
    """The exact path alone."""
    violations = Violations()
    reader = RecordReader(schema, "f.jsonl", minting(), violations, omissions)
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if is_blank(line):
            continue
        try:
            reader.read(parse_line(line), number)
        except Malformed as problem:
            reader.malformed(str(problem), number)
    return good_rows(reader.take(), violations), violations


def one(line: str | bytes, schema: Catalog = CATALOG) -> dict[str, object]:
    """The one good row of a line."""
    rows, violations = read(line, schema)
    assert violations.samples == ()
    [only] = rows
    [row] = only.batch.to_pylist()
    assert isinstance(row, dict)
    return row


def refused(line: str | bytes, schema: Catalog = CATALOG) -> list[Violation]:
    """What is wrong with input of which nothing is read."""
    rows, violations = read(line, schema)
    assert not rows
    return list(violations.samples)
