"""Columns of ids: the id of an entity, and the ends of an edge, from the types that tables write them in.

An id is text. Integers, whole floats (pandas stores integers with gaps as floats), dates and UUIDs are accepted; where
the node has a key, the value is that of the key, so that 1 and "1" both find the node with the key 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.scalars import Scalar
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.casting.arrow_casts import cast_column, is_uuid, plain, uuid_texts
from omnigraph.rows.casting.problems import WrongColumn, WrongValue
from omnigraph.rows.keys import key_texts
from omnigraph.schema.catalog import NodeType
from omnigraph.schema.types import PropertyType

_TEXT = PropertyType(Scalar.STRING)
_WHOLE = PropertyType(Scalar.I64)


def id_column(array: pa.Array, node: NodeType | None) -> pa.Array:
    """Ids of nodes of a type, or of entities whose ids are plain text, as text. Raises WrongValue and WrongColumn."""
    return id_texts(array, key_type_of(node))


def id_texts(array: pa.Array, key: PropertyType) -> pa.Array:
    """The same for ids whose values are those of a key of this type."""
    if is_uuid(array.type):
        return uuid_texts(array)
    array = plain(array)
    if pa.types.is_string(array.type):
        texts = cast_column(array, _TEXT)
        return texts if key.scalar is Scalar.STRING else _canonical(texts, key)
    if key.scalar is not Scalar.STRING:
        return key_texts(cast_column(array, key), key)
    return _plain_texts(array)


def id_columns(array: pa.Array, nodes: Sequence[NodeType], names: Sequence[str | None]) -> pa.Array:
    """Ids of nodes of several types, as ``id_column``; ``names`` are the types of the rows, None if not given."""
    if len({key_type_of(node).scalar for node in nodes}) == 1:
        return id_column(array, nodes[0])
    known = {node.name: node for node in nodes}
    given = pa.array(names, pa.utf8())
    parts, places = [], []
    for name in dict.fromkeys(names):
        own = pc.is_null(given) if name is None else pc.fill_null(pc.equal(given, name), False)
        parts.append(id_column(array.filter(own), None if name is None else known[name]))
        places.append(pc.indices_nonzero(own))
    if not parts:
        return id_column(array, None)
    order = pa.concat_arrays(places)
    return pa.concat_arrays(parts).take(pc.sort_indices(order))


def key_type_of(node: NodeType | None) -> PropertyType:
    """The type of a key of one property; the id of any other node is text."""
    return node.properties[node.key[0]].type if node is not None and len(node.key) == 1 else _TEXT


def _plain_texts(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_null(kind) or pa.types.is_integer(kind):
        return array.cast(pa.utf8())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        try:
            return cast_column(array, _WHOLE).cast(pa.utf8())
        except WrongValue as problem:
            raise WrongValue("is not a whole number, and ids are text or whole numbers") from problem
    if pa.types.is_date(kind):
        return array.cast(pa.date32()).cast(pa.utf8())
    raise WrongColumn(f"expected a column of ids (text, integers, dates or UUIDs), got {kind}")


def _canonical(texts: pa.Array, key: PropertyType) -> pa.Array:
    """Texts as the ids that the key gives: "007" as 7, "2026-01-31" as its day. Other texts are ids already."""
    try:
        return key_texts(cast_column(texts, key, from_texts=True), key)
    except (WrongValue, WrongColumn):
        if len(texts) <= 1:
            return texts
        half = len(texts) // 2
        return pa.concat_arrays([_canonical(texts.slice(0, half), key), _canonical(texts.slice(half), key)])


def id_text(value: object, node: NodeType | None) -> object:
    """One value of a record as ``id_column`` reads it; a value that is no id is returned unchanged."""
    key = key_type_of(node)
    if value is None or isinstance(value, bool) or (isinstance(value, str) and key.scalar is Scalar.STRING):
        return value
    if isinstance(value, int) and (key.scalar is Scalar.STRING or key.scalar.is_integer):
        return str(value)
    try:
        return id_column(pa.array([value]), node)[0].as_py()
    except (WrongValue, WrongColumn, pa.ArrowException):
        return value


def text_key(entity: Entity) -> tuple[str, ...]:
    """The properties of a key that hold text: as ids, they accept whole numbers and UUIDs."""
    key = entity.key if isinstance(entity, NodeType) else ()
    return tuple(name for name in key if entity.properties[name].type.scalar is Scalar.STRING)
