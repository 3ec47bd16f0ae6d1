"""Parameters of stored queries by kind, as clients that build forms or tools from them need."""

from dataclasses import dataclass

import pytest

from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source
from omnigraph.query.ir import ParameterIR
from omnigraph.schema.types import type_from_syntax
from omnigraph.wire.http.models.queries import QueriesCatalogOutput
from omnigraph.wire.http.stored_queries import parameter_json, stored_queries_json


@dataclass(frozen=True)
class Stored:
    name: str
    description: str | None = None
    instruction: str | None = None
    is_mutation: bool = False
    parameters: tuple[ParameterIR, ...] = ()


def parameter(type_name: str) -> ParameterIR:
    text = f"query q($p: {type_name}) {{ match {{ $x: Person }} return {{ $x }} }}"
    [query] = parse_queries(Source(text)).file.queries
    return ParameterIR("p", type_from_syntax(query.parameters[0].type))


@pytest.mark.parametrize(
    ("type_name", "form"),
    [
        ("String", {"kind": "string", "nullable": False}),
        ("Bool?", {"kind": "bool", "nullable": True}),
        ("I32", {"kind": "int", "nullable": False}),
        ("U32", {"kind": "int", "nullable": False}),
        ("I64", {"kind": "bigint", "nullable": False}),
        ("U64", {"kind": "bigint", "nullable": False}),
        ("F32", {"kind": "float", "nullable": False}),
        ("F64", {"kind": "float", "nullable": False}),
        ("Date", {"kind": "date", "nullable": False}),
        ("DateTime", {"kind": "datetime", "nullable": False}),
        ("Blob", {"kind": "blob", "nullable": False}),
        ("Vector(3)", {"kind": "vector", "vector_dim": 3, "nullable": False}),
        ("[Date]?", {"kind": "list", "item_kind": "date", "nullable": True}),
    ],
)
def test_every_declared_type_has_its_kind(type_name: str, form: dict[str, object]) -> None:
    assert parameter_json(parameter(type_name)) == {"name": "p", **form}


def test_the_catalog_is_sorted_and_leaves_out_what_is_not_there() -> None:
    form = stored_queries_json([Stored("b"), Stored("a", "Finds.", "Use it.", True, (parameter("I64"),))])
    QueriesCatalogOutput.model_validate(form, extra="forbid")
    first, second = form["queries"]
    assert (first["name"], first["tool_name"], first["mutation"]) == ("a", "a", True)
    assert second == {"name": "b", "tool_name": "b", "mutation": False, "params": []}
