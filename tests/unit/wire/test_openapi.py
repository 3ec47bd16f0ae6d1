"""The OpenAPI document: schemas with the names, fields and marks of Omnigraph 0.10, and ours beside them."""

from typing import Any

import pytest
from pydantic import BaseModel

from omnigraph.wire.http.models import branches, changes, commits, errors, graphs, loads, mutations, queries
from omnigraph.wire.http.models.base import ADDITION
from omnigraph.wire.http.openapi import JSON, Body, Operation, Parameter, Reply, openapi
from tests.support.reference.http import SCHEMAS

ROOTS: tuple[type[BaseModel], ...] = (
    *(branches.BranchCreateOutput, branches.BranchCreateRequest, branches.BranchDeleteOutput),
    *(branches.BranchListOutput, branches.BranchMergeOutput, branches.BranchMergeRequest),
    *(changes.ChangeBaselineRecord, changes.ChangeBaselineRequest, changes.ChangeFeedOutput),
    *(changes.CommitChangesOutput, changes.ExportRequest, errors.ChangeErrorOutput, errors.ErrorOutput),
    *(graphs.GraphListResponse, graphs.HealthOutput, graphs.SchemaApplyOutput, graphs.SchemaApplyRequest),
    *(graphs.SchemaOutput, graphs.SnapshotOutput, loads.GraphBatchLoadOutput, loads.IngestOutput),
    *(loads.IngestRequest, mutations.ChangeRequest, queries.InvokeStoredQueryRequest),
    *(queries.InvokeStoredQueryResponse, queries.LegacyReadOutput, queries.QueriesCatalogOutput),
    *(queries.QueryRequest, queries.ReadRequest, commits.CommitListOutput),
)


def operation(path: str, **options: Any) -> Operation:
    return Operation("POST", path, path.strip("/"), "queries", "A summary.", {200: Reply("Done.")}, **options)


DOCUMENT = openapi(
    [
        operation(
            f"/{model.__name__}", body=Body({JSON: model}), parameters=(Parameter("kind", graphs.BlobEntityKind),)
        )
        for model in ROOTS
    ],
    version="1",
    secured=True,
    only_reference=True,
)


def compact(schema: dict[str, Any]) -> str:
    """A schema in the notation of the table."""
    if "enum" in schema:
        return " ".join(schema["enum"])
    if "oneOf" in schema:
        return " ".join(named(choice) for choice in schema["oneOf"])
    required = schema.get("required", ())
    members = [
        f"{name}{'*' if name in required else ''}:{named(value)}"
        for name, value in sorted(schema["properties"].items())
    ]
    return " ".join([*members, *(["closed"] if schema.get("additionalProperties") is False else [])])


def named(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": reference}:
            return str(reference).rpartition("/")[2]
        case {"oneOf": [{"type": "null"}, other]}:
            return f"{named(other)}?"
        case {"type": [kind, "null"], **rest}:
            return f"{named({'type': kind, **rest})}?"
        case {"type": "array", "items": items}:
            return f"[{named(items)}]"
        case {"type": "integer", **rest}:
            return str(rest.get("format", "int"))
        case {"type": kind}:
            return {"string": "str", "boolean": "bool"}[kind]
        case _:
            return "any"


def test_the_schemas_are_those_of_the_reference() -> None:
    assert DOCUMENT["components"]["schemas"].keys() == SCHEMAS.keys()


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_has_the_members_and_marks_of_the_reference(name: str) -> None:
    assert compact(DOCUMENT["components"]["schemas"][name]) == SCHEMAS[name]


def test_counters_are_not_negative_and_times_may_be() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["ReadOutput"]["properties"]["row_count"]["minimum"] == 0
    assert schemas["BlobRangeOutput"]["properties"]["length"]["minimum"] == 0
    assert "minimum" not in schemas["CommitOutput"]["properties"]["created_at"]


def test_additions_are_marked_and_left_out_on_demand() -> None:
    operations = [operation("/old", body=Body({JSON: queries.QueryRequest})), operation("/ours", is_addition=True)]
    whole = openapi(operations, version="1", secured=False)
    assert whole["paths"]["/ours"]["post"][ADDITION] is True
    part = openapi(operations, version="1", secured=False, only_reference=True)
    assert list(part["paths"]) == ["/old"]
    assert ADDITION not in str(part)


def test_an_open_server_has_no_security_and_a_secured_one_asks_for_it_where_it_must() -> None:
    operations = [operation("/a"), operation("/b", is_secured=False)]
    opened = openapi(operations, version="1", secured=False)
    assert "security" not in str(opened)
    secured = openapi(operations, version="1", secured=True)
    assert secured["components"]["securitySchemes"] == {"bearer_token": {"type": "http", "scheme": "bearer"}}
    asks = {path: "security" in item["post"] for path, item in secured["paths"].items()}
    assert asks == {"/a": True, "/b": False}


def test_parameters_of_the_path_come_first() -> None:
    document = openapi(
        [operation("/graphs/{graph_id}/blob", parameters=(Parameter("type", required=True),))],
        version="1",
        secured=False,
    )
    found = document["paths"]["/graphs/{graph_id}/blob"]["post"]["parameters"]
    assert [(item["name"], item["in"], item["required"]) for item in found] == [
        ("graph_id", "path", True),
        ("type", "query", True),
    ]
