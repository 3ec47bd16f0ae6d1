"""Lenient JSON: the forgiving reader of Omnigraph 0.10, behind its HTTP routes ``/load`` and ``/ingest``.

The input is JSON values one after the other, in any layout, with ``//`` comments. What the strict reader refuses is
ignored here where that is harmless: unknown members, values that do not fit a nullable property (they become null),
items that do not fit a list (null). The input is read as a whole, because ids may be written in several forms: an id
that means the same key is replaced by the derived one, also where edges name it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from omnigraph.errors import InputError
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.casting.json_values import Convert, Unfit, converter
from omnigraph.rows.keys import key_id, key_text, key_type
from omnigraph.rows.limits import BATCH_ROWS, RECORDS_PER_BLOCK
from omnigraph.rows.omissions import Omissions
from omnigraph.rows.read.json_records import RecordReader
from omnigraph.rows.read.minting import MintIds
from omnigraph.rows.typed_rows import Gathering, TypedRows
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog, EdgeEnd, NodeType
from omnigraph.schema.types import PropertyType

Record = Mapping[str, object]
Aliases = dict[str, dict[str, str]]
"""Other forms of ids, by node type: the form that was written, and the derived id."""

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*")


def read_lenient(
    chunks: Iterable[bytes],
    *,
    catalog: Catalog,
    source: str,
    mint_ids: MintIds,
    violations: Violations,
    omissions: Omissions,
) -> Iterator[TypedRows]:
    """Typed rows of lenient JSON; a place is the number of a record."""
    values = list(_values(b"".join(chunks), source))
    aliases: Aliases = {}
    records = [_node(value, catalog, aliases, number) for number, value in enumerate(values, 1)]
    reader = RecordReader(catalog, source, mint_ids, violations, omissions, _converter)
    gathering = Gathering(BATCH_ROWS)
    numbered = enumerate((_edge(record, catalog, aliases) for record in records), 1)
    while part := list(islice(numbered, RECORDS_PER_BLOCK)):
        for number, record in part:
            reader.read(record, number)
        for piece in reader.take():
            yield from gathering.add(piece)
    yield from gathering.rest()


def _values(data: bytes, source: str) -> Iterator[object]:
    """The JSON values of a text. Of equal members of an object, the last one counts."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not valid UTF-8 at byte {error.start}", hint="encode it as UTF-8") from None
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    position, number = _after_blank(text, 0), 1
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"record {number} is not JSON: {_reason(error)}",
                hint="write JSON values one after the other",
                line=number,
            ) from None
        yield value
        position, number = _after_blank(text, position), number + 1


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"


def _after_blank(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return position if found is None else found.end()


def _refuse_constant(name: str) -> object:
    raise json.JSONDecodeError(f"{name} is not a JSON number", name, 0)


def _node(value: object, catalog: Catalog, aliases: Aliases, number: int) -> object:
    """A record without its harmless mistakes. A node's id in another form is noted and replaced by the derived one."""
    if not isinstance(value, Mapping):
        return value
    name = value.get("type")
    if isinstance(name, str):
        node = catalog.node(name)
        if node is None:
            return {"type": name}
        data = _known(value.get("data"), node)
        return {"type": name, "data": _with_derived_id(data, node, aliases, number)}
    edge_name = value.get("edge")
    if not isinstance(edge_name, str):
        return value
    edge = catalog.edge(edge_name)
    ends = {key: value[key] for key in ("from", "to") if key in value}
    return {"edge": edge_name, **ends, **({} if edge is None else {"data": _known(value.get("data"), edge)})}


def _known(data: object, entity: Entity) -> Record:
    """The members that are properties, or the id. Data that is no object is empty."""
    if not isinstance(data, Mapping):
        return {}
    return {name: value for name, value in data.items() if name in entity.properties or name == ID}


def _with_derived_id(data: Record, node: NodeType, aliases: Aliases, number: int) -> Record:
    given = data.get(ID)
    derived = _derived(data, node)
    if not isinstance(given, str) or derived is None or given == derived or not _means_key(given, data, node):
        return data
    known = aliases.setdefault(node.name, {})
    if known.setdefault(given, derived) != derived:
        raise InputError(
            f"record {number}: the id {given!r} of {node.name} means {known[given]!r} and {derived!r}",
            hint="write the id that the key gives, or leave it out",
            line=number,
        )
    return {name: value for name, value in data.items() if name != ID}


def _derived(data: Record, node: NodeType) -> str | None:
    texts = [_key_text(data.get(name), key_type(node, name)) for name in node.key]
    return None if not texts or None in texts else key_id([text for text in texts if text is not None])


def _key_text(value: object, type_: PropertyType) -> str | None:
    try:
        return None if value is None else key_text(converter(type_)(value), type_)
    except Unfit:
        return None


def _means_key(given: str, data: Record, node: NodeType) -> bool:
    """True if an id is the key, or a member of it, in another form: ``2020-01-31`` for the day 18292."""
    return any(
        _key_text(form, type_) == _key_text(data.get(name), type_)
        for name in node.key
        for type_ in [key_type(node, name)]
        for form in _forms(given)
    )


def _forms(given: str) -> Iterator[object]:
    """The values that a text may stand for: itself, or the number or truth value that it spells."""
    yield given
    try:
        value = json.loads(given)
    except ValueError:
        return
    if isinstance(value, int | float):
        yield value


def _edge(record: object, catalog: Catalog, aliases: Aliases) -> object:
    """An edge whose ends are derived ids."""
    edge = catalog.edge(str(record["edge"])) if isinstance(record, Mapping) and "edge" in record else None
    if edge is None or not isinstance(record, Mapping):
        return record
    return {**record, **{end.word: _end(end, record[end.word], aliases) for end in edge.ends if end.word in record}}


def _end(end: EdgeEnd, value: object, aliases: Aliases) -> object:
    """A node at an end with its derived id."""
    if isinstance(value, Mapping) and value.get("type") in end.types and isinstance(value.get("id"), str):
        known = aliases.get(str(value["type"]), {})
        return {**value, "id": known.get(str(value["id"]), value["id"])}
    known = {} if end.is_typed else aliases.get(end.types[0], {})
    return known.get(value, value) if isinstance(value, str) else value


def _converter(type_: PropertyType) -> Convert:
    """The strict conversion, with null for what does not fit: an item of a list, or a property that may be null."""
    strict = converter(type_)
    convert = _items_or_null(type_, strict) if type_.is_list else strict
    return _or_null(convert) if type_.nullable else convert


def _items_or_null(type_: PropertyType, strict: Convert) -> Convert:
    item = _or_null(converter(PropertyType(type_.scalar)))
    return lambda value: [item(part) for part in value] if isinstance(value, list) else strict(value)


def _or_null(convert: Convert) -> Convert:
    def forgiving(value: object) -> object:
        try:
            return convert(value)
        except Unfit:
            return None

    return forgiving
