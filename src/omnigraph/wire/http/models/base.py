"""Bases and field types of the models, and the mark of what Omnigraph 0.10 does not have."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue

ADDITION: Final = "x-omnigraph-addition"
"""Marks operations, members and schemas that Omnigraph 0.10 does not have."""

ADDED_VALUES: Final = "x-omnigraph-added-values"
"""The values of an enum that Omnigraph 0.10 does not have."""


class Request(BaseModel):
    """A body that a client sends. Values are not converted, and unknown members are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", populate_by_name=False)


class ClosedRequest(Request):
    """A body whose unknown members are refused."""

    model_config = ConfigDict(extra="forbid")


class Form(BaseModel):
    """A body that the server sends. Clients ignore members that they do not know, so more of them may be added."""

    # Built when a test or the document needs it: a server that starts needs none of them.
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)


def added(default: Any = None, **options: Any) -> Any:
    """A field that Omnigraph 0.10 does not have; its clients ignore it."""
    return Field(default, json_schema_extra={ADDITION: True}, **options)


class WireEnum(StrEnum):
    """A closed set of words. ``added_values`` are those that Omnigraph 0.10 does not have."""

    @classmethod
    def added_values(cls) -> tuple[str, ...]:
        return ()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        found = handler.resolve_ref_schema(handler(schema))
        if cls.added_values():
            found[ADDED_VALUES] = list(cls.added_values())
        return found


Count = Annotated[int, Field(ge=0)]
Count64 = Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})]
Count32 = Annotated[int, Field(ge=0, json_schema_extra={"format": "int32"})]
Int64 = Annotated[int, Field(json_schema_extra={"format": "int64"})]


class EntityKindOutput(WireEnum):
    """Kind of an entity."""

    NODE = "node"
    EDGE = "edge"
