"""The fast path of reading JSON lines: lines of one type parsed as columns by Arrow.

Invariant: the fast path returns exactly the rows of the exact path, or returns the lines unread. It never reports a
violation. Anything unusual (an invalid value, a duplicate key, NaN, -0, a missing property, invalid UTF-8) is left to
the exact path. A property test compares the two.

This relies on facts about Arrow's parser:

* duplicate keys, unknown keys, control characters and halves of surrogate pairs are errors;
* NaN and infinities, invalid UTF-8, several objects in one line and one object over several lines are no errors, so
  they are detected here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.rows.casting.column_values import Unusual, fast_type, stored, temporal_in
from omnigraph.rows.ends.references import has_typed_key, stored_tags
from omnigraph.rows.keys import derived_ids
from omnigraph.rows.limits import PARSE_BLOCK_BYTES, STRUCTURAL_TOKENS_MAX
from omnigraph.rows.omissions import Cells, Omissions, cells_of_columns, lines_without
from omnigraph.rows.read.json_lines import LineBlock, Malformed, parse_line
from omnigraph.rows.read.minting import MintIds, given_or_minted
from omnigraph.rows.typed_rows import TypedRows, counting
from omnigraph.schema.catalog import Catalog, EdgeType

NumberedLine = tuple[int, bytes]

TYPED_END: Final = pa.struct([("type", pa.utf8()), ("id", pa.utf8())])
"""A node at an end with several types."""

_PREFIX: Final = re.compile(rb'\{"(type|edge)": ?"([A-Za-z0-9_]+)"')
_PREFIX_NAME_AT: Final = 10
"""Start of the search for the end of the type's name: behind ``{"type": "``, or one character into the name if there
is no space."""
_SNIFFED_LINES: Final = 64
_ENVELOPE: Final = frozenset({"type", "edge", "from", "to", "data", "id"})
"""Keys of the record itself; a property of that name cannot be counted in the text."""
_ESCAPED_KEY: Final = re.compile(rb'\\u[0-9A-Fa-f]{4}[^"\\]*"[ \t\r]*:')
_NULL_DATA: Final = re.compile(rb'"data"[ \t\r]*:[ \t\r]*null')


class ColumnarReader:
    """Reads the lines of a block type by type, if they start with their type and end with ``}``.

    Lines that start with ``{`` and end with ``}`` cannot be parts of one object, because JSON requires a comma between
    values. So an equal number of objects and lines means one object per line.
    """

    def __init__(self, catalog: Catalog, mint_ids: MintIds, omissions: Omissions = Omissions.IGNORED) -> None:
        self._catalog = catalog
        self._mint_ids = mint_ids
        self._omissions = omissions
        self._parsers: dict[str, _TypeParser] = {}
        self._by_prefix: dict[bytes, _TypeParser] = {}

    def read(self, block: LineBlock) -> tuple[list[TypedRows], list[NumberedLine]]:
        """The rows of types that were parsed, and all other lines, unread and in order."""
        data = block.data
        if b"\0" in data or not _is_utf8(data):
            return [], _numbered(block)
        parser = self._parser_of_all(block)
        if parser is not None:
            rows = parser.parse(data, counting(block.first_line, block.lines))
            return ([rows], []) if rows is not None else ([], _numbered(block))
        return self._read_mixed(block)

    def _read_mixed(self, block: LineBlock) -> tuple[list[TypedRows], list[NumberedLine]]:
        groups: dict[str, tuple[_TypeParser, list[int], list[bytes]]] = {}
        unjudged: list[NumberedLine] = []
        for number, whole in enumerate(block.data.split(b"\n"), block.first_line):
            line = whole if whole.endswith(b"}") else whole.rstrip(b" \t\r")
            prefix = line[: line.find(b'"', _PREFIX_NAME_AT) + 1]
            parser = self._by_prefix.get(prefix) or self._new_prefix(prefix)
            if parser is None or not line.endswith(b"}"):
                unjudged.append((number, whole))
                continue
            group = groups.get(parser.key)
            if group is None:
                group = groups[parser.key] = (parser, [], [])
            group[1].append(number)
            group[2].append(line)
        pieces = []
        for parser, numbers, lines in groups.values():
            rows = parser.parse(b"\n".join(lines), pa.array(numbers, pa.int64()))
            if rows is None:
                unjudged += zip(numbers, lines, strict=True)
            else:
                pieces.append(rows)
        return pieces, sorted(unjudged)

    def _parser_of_all(self, block: LineBlock) -> _TypeParser | None:
        """The parser for a block of one type, as in an export; saves splitting the block into lines."""
        data = block.data
        prefix = data[: data.find(b'"', _PREFIX_NAME_AT) + 1]
        parser = self._by_prefix.get(prefix) or self._new_prefix(prefix)
        if parser is None or not data.endswith((b"}", b"}\n")):
            return None
        return parser if data.count(b"}\n" + prefix) + 1 == block.lines else None

    def _new_prefix(self, prefix: bytes) -> _TypeParser | None:
        found = _PREFIX.fullmatch(prefix)
        if found is None:
            return None
        name = found.group(2).decode()
        entity: Entity | None = self._catalog.node(name) if found.group(1) == b"type" else self._catalog.edge(name)
        if entity is None:
            return None
        parser = self._parsers.setdefault(entity.table_key, _TypeParser(entity, self._mint_ids, self._omissions))
        self._by_prefix[prefix] = parser
        return parser


class _TypeParser:
    """Parser for lines of one type. ``_numbers`` holds the dates and times that this input writes as numbers."""

    def __init__(self, entity: Entity, mint_ids: MintIds, omissions: Omissions) -> None:
        self.key = entity.table_key
        self._entity = entity
        self._mint_ids = mint_ids
        self._is_noted = omissions is not Omissions.IGNORED
        self._is_partial = omissions is Omissions.ALLOWED
        self._schema = table_schema(entity)
        self._properties = [name for name in self._schema.names if name in entity.properties]
        self._numbers: frozenset[str] | None = None

    def parse(self, data: bytes, numbers: pa.Array) -> TypedRows | None:
        if self._numbers is None:
            self._sniff(data, 1)
        try:
            table = self._parse_columns(data)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            if not self._sniff(data, _SNIFFED_LINES):
                return None
            try:
                table = self._parse_columns(data)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                return None
        if table.num_rows != len(numbers):
            return None
        try:
            batch, omitted = self._batch(table, data)
        except (Unusual, pa.ArrowInvalid):
            return None
        return TypedRows(self._entity, batch, numbers, omitted=omitted)

    def _sniff(self, data: bytes, lines: int) -> bool:
        """Detect in the first lines which dates are numbers. Returns true if the result changed."""
        before = self._numbers
        found = set(before or ())
        for line in data.split(b"\n", lines)[:lines]:
            try:
                record = parse_line(line)
            except Malformed:
                continue
            values = record.get("data") if isinstance(record, dict) else None
            if isinstance(values, dict):
                for name in self._properties:
                    match temporal_in(values.get(name), self._entity.properties[name].type):
                        case "number":
                            found.add(name)
                        case "text":
                            found.discard(name)
        self._numbers = frozenset(found)
        return self._numbers != before

    def _parse_columns(self, data: bytes) -> pa.Table:
        fields = [pa.field(ID, pa.utf8())]
        for name in self._properties:
            as_number = name in (self._numbers or ())
            fields.append(pa.field(name, fast_type(self._entity.properties[name].type, as_number=as_number)))
        heads: dict[str, pa.DataType] = {"type": pa.utf8()}
        if isinstance(self._entity, EdgeType):
            ends = {end.word: TYPED_END if end.is_typed else pa.utf8() for end in self._entity.ends}
            heads = {"edge": pa.utf8(), **ends}
        schema = pa.schema([*heads.items(), ("data", pa.struct(fields))])
        options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error", newlines_in_values=False)
        reading = pj.ReadOptions(use_threads=True, block_size=PARSE_BLOCK_BYTES)
        return pj.read_json(pa.BufferReader(data), reading, options)

    def _batch(self, table: pa.Table, data: bytes) -> tuple[pa.RecordBatch, Cells | None]:
        arrays = self._columns(table, data)
        if sum(_items_max(array) for array in arrays.values()) + 8 * len(self._schema) > STRUCTURAL_TOKENS_MAX:
            raise Unusual
        given = arrays.pop(ID)
        omitted: dict[str, pa.BooleanArray] = {ID: pc.is_null(given)} if given.null_count else {}
        ends: dict[str, pa.Array] = {}
        if isinstance(self._entity, EdgeType):
            ends = self._ends(self._entity, table)
            for end in self._entity.ends:
                if ends[end.column].null_count:
                    omitted[end.column] = self._omitted(ends[end.column], end.word, data, is_required=True)
                    if end.type_column is not None:
                        omitted[end.type_column] = omitted[end.column]
                    # Only an edge with an id may leave its ends out.
                    if pc.any(pc.and_(omitted[end.column], pc.is_null(given))).as_py():
                        raise Unusual
        for name, array in arrays.items():
            prop = self._entity.properties[name]
            if array.null_count and (self._is_noted or not prop.type.nullable):
                omitted[name] = self._omitted(array, name, data, is_required=not prop.type.nullable)
            arrays[name] = stored(array, prop.type)
        ids = self._ids(ends | arrays, given, omitted)
        batch = pa.RecordBatch.from_arrays([ids, *ends.values(), *arrays.values()], schema=self._schema)
        return batch, cells_of_columns(self._schema.names, omitted, batch.num_rows)

    @staticmethod
    def _ends(edge: EdgeType, table: pa.Table) -> dict[str, pa.Array]:
        """The columns of both ends, in the order of the table."""
        ids: dict[str, pa.Array] = {}
        tags: dict[str, pa.Array] = {}
        for end in edge.ends:
            given = _flat(table.column(end.word))
            if end.is_typed:
                names, ids[end.column] = given.flatten()
                # A node with a null in place of its type or id, or with another type, is reported by the exact path.
                has_both = pc.and_(pc.is_valid(names), pc.is_valid(ids[end.column]))
                known = pc.is_in(names, value_set=pa.array(end.types))
                if not pc.all(pc.or_(pc.is_null(given), pc.and_(has_both, known)), min_count=0).as_py():
                    raise Unusual
                places = pc.index_in(names, value_set=pa.array(end.types))
                tags[str(end.type_column)] = pa.array(stored_tags(end, end.types), pa.utf8()).take(places)
            else:
                ids[end.column] = given
                if end.type_column is not None:
                    tags[end.type_column] = pa.repeat(pa.scalar(end.stored_tag(end.types[0]), pa.utf8()), len(given))
        return ids | tags

    def _omitted(self, array: pa.Array, key: str, data: bytes, *, is_required: bool) -> pa.BooleanArray:
        """A mask of nulls that the lines do not write; raises if a null is not allowed.

        The parser does not distinguish a missing key from a null. Quotes in texts are escaped, so a quoted name before
        a colon is a key; only an escape in it could hide one.
        """
        if is_required and not self._is_partial:
            raise Unusual
        if b"null" not in data:
            return pc.is_null(array)
        if is_required or key in _ENVELOPE or _ESCAPED_KEY.search(data):
            raise Unusual
        written = re.compile(rb'"%s"[ \t\r]*:' % re.escape(key.encode()))
        return lines_without(data, [found.start() for found in written.finditer(data)], len(array))

    def _columns(self, table: pa.Table, data: bytes) -> dict[str, pa.Array]:
        struct = _flat(table.column("data"))
        # Arrow does not distinguish a missing "data" (allowed) from a null one (an error). Only an escape could hide
        # the key from the pattern.
        if struct.null_count and (b"\\" in data or _NULL_DATA.search(data)):
            raise Unusual
        return dict(zip((field.name for field in struct.type), struct.flatten(), strict=True))

    def _ids(self, arrays: dict[str, pa.Array], given: pa.Array, omitted: Mapping[str, pa.BooleanArray]) -> pa.Array:
        if not self._entity.key:
            return given_or_minted(given, self._mint_ids)
        ids = derived_ids(self._entity, pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays)))
        # A key with an omitted member has no id of its own: the given one counts.
        for name in self._entity.key:
            if name in omitted:
                ids = pc.if_else(omitted[name], given, ids)
        # The comparison is null where no id was given.
        is_given = given.null_count < len(given) and not has_typed_key(self._entity)
        if ids.null_count or (is_given and not pc.all(pc.equal(ids, given)).as_py()):
            raise Unusual
        return ids


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _items_max(array: pa.Array) -> int:
    if not pa.types.is_list(array.type):
        return 0
    return pc.max(pc.list_value_length(array)).as_py() or 0


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _numbered(block: LineBlock) -> list[NumberedLine]:
    return list(enumerate(block.data.split(b"\n"), block.first_line))
