"""Casts to Json: texts, structs, maps and lists."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.json_values.texts import NotJson, canonical_text
from omnigraph.rows.casting.json_values import Unfit, converter
from omnigraph.rows.casting.problems import WrongValue
from omnigraph.schema.types import PropertyType


def json_values(array: pa.Array, type_: PropertyType) -> pa.Array:
    """JSON texts, or values of any other type: structs and maps as objects, lists as arrays."""
    if pa.types.is_string(array.type):
        encoded = array.dictionary_encode()
        try:
            values = [canonical_text(text) for text in encoded.dictionary.to_pylist()]
        except NotJson as problem:
            raise WrongValue(f"is refused: {problem}") from None
        # The null of a JSON text is the null of the property.
        texts = pa.array([None if text == "null" else text for text in values], pa.utf8())
        return texts.take(encoded.indices)
    convert = converter(type_)
    try:
        made = [None if value is None else convert(value) for value in nested_values(array)]
    except Unfit as problem:
        raise WrongValue(str(problem)) from None
    return pa.array(made, pa.utf8())


def nested_values(array: pa.Array) -> list[object]:
    """The values of a column as Python's, with dicts in place of maps."""
    kind = array.type
    if pa.types.is_map(kind):
        return [None if pairs is None else dict(pairs) for pairs in array.to_pylist()]
    if pa.types.is_struct(kind):
        fields = [nested_values(field) for field in array.flatten()]
        names = [field.name for field in kind]
        rows = zip(*fields, strict=True) if fields else [()] * len(array)
        objects = [dict(zip(names, row, strict=True)) for row in rows]
        return [item if valid else None for item, valid in zip(objects, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        items = iter(nested_values(pc.list_flatten(array)))
        lengths = pc.list_value_length(array).to_pylist()
        return [None if length is None else [next(items) for _ in range(length)] for length in lengths]
    values: list[object] = array.to_pylist()
    return values
