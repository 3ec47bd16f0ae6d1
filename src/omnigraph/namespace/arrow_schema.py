"""Arrow schemas in the JSON form of the interface."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from lance_namespace_urllib3_client.models.json_arrow_data_type import JsonArrowDataType
from lance_namespace_urllib3_client.models.json_arrow_field import JsonArrowField
from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

_NAMES: Final[dict[str, str]] = {
    "string": "utf8",
    "large_string": "large_utf8",
    "float": "float32",
    "double": "float64",
    "halffloat": "float16",
    "date32[day]": "date32",
}
"""Types whose name in the interface is not the one of Arrow for Python."""


def schema_json(schema: pa.Schema) -> JsonArrowSchema:
    """A schema with the types of its columns, and their metadata."""
    return JsonArrowSchema(fields=[_field(field) for field in schema])


def _field(field: pa.Field) -> JsonArrowField:
    metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    return JsonArrowField(name=field.name, nullable=field.nullable, type=_type(field.type), metadata=metadata or None)


def _type(type_: pa.DataType) -> JsonArrowDataType:
    if isinstance(type_, pa.BaseExtensionType):
        return _type(type_.storage_type)
    if pa.types.is_fixed_size_list(type_):
        return JsonArrowDataType(type="fixed_size_list", fields=[_field(type_.value_field)], length=type_.list_size)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        name = "list" if pa.types.is_list(type_) else "large_list"
        return JsonArrowDataType(type=name, fields=[_field(type_.value_field)])
    if pa.types.is_struct(type_):
        return JsonArrowDataType(type="struct", fields=[_field(field) for field in type_])
    if pa.types.is_timestamp(type_):
        return JsonArrowDataType(type="timestamp")
    return JsonArrowDataType(type=_NAMES.get(str(type_), str(type_)))
