"""The HTTP reference page, made from the route table and the OpenAPI document."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from omnigraph.server.routes.rows import Route
from omnigraph.server.routes.table import DOCUMENTED
from omnigraph.wire.http.openapi import openapi

HEAD = """# HTTP reference

Made from the route table by `make docs`. [The server](server.md) explains how to run it and who may do what.

A server shows the same as an OpenAPI document at `/openapi.json`, without a token.
`/openapi.json?only=0.10` leaves out everything that Omnigraph 0.10 does not have.
An operation, a status or a member that 0.10 does not have is marked with +.
"""


def page() -> str:
    """Every operation with its parameters, bodies, answers and rights; then every body."""
    document = openapi([route.operation for route in DOCUMENTED], version="", secured=True)
    lines = [HEAD]
    for title, is_addition in (("Operations of Omnigraph 0.10", False), ("Additions", True)):
        chosen = [route for route in DOCUMENTED if route.operation.is_addition is is_addition]
        if chosen:
            lines += [f"## {title}", ""]
        for route in chosen:
            lines += _operation(route, document)
    lines += ["## Bodies", ""]
    for name, schema in document["components"]["schemas"].items():
        lines += _schema(name, schema)
    return "\n".join(lines)


def _operation(route: Route, document: dict[str, Any]) -> Iterator[str]:
    operation = route.operation
    form = document["paths"][operation.path][operation.method.lower()]
    yield f"### {operation.method} {operation.path}"
    yield ""
    yield operation.summary + (" Deprecated." if operation.deprecated else "")
    if operation.is_secured:
        yield f"Needs: {_needs(route)}"
    yield ""
    parameters = [item for item in form.get("parameters", ()) if item["name"] != "graph_id"]
    if parameters:
        yield "| Parameter | In | Type | |"
        yield "|---|---|---|---|"
        for item in parameters:
            required = "required. " if item["required"] else ""
            described = item.get("description", "").replace("|", "\\|")
            yield f"| `{item['name']}`{_mark(item)} | {item['in']} | {_type(item['schema'])} | {required}{described} |"
        yield ""
    if operation.body is not None:
        needed = "" if operation.body.required else " (optional)"
        yield f"Body{needed}: {_content(form['requestBody']['content'])}"
        yield ""
    yield "| Status | Body | |"
    yield "|---|---|---|"
    for status, reply in form["responses"].items():
        yield f"| {status}{_mark(reply)} | {_content(reply.get('content', {}))} | {reply['description']} |"
    yield ""


def _needs(route: Route) -> str:
    said = inspect.getdoc(route.road.gate.needs) or "nothing"
    return said.splitlines()[0].replace("``", "`")


def _content(content: dict[str, Any]) -> str:
    found = [f"{_type(item['schema'])} as `{media}`" for media, item in content.items()]
    return ", ".join(text.removesuffix(" as `application/json`") for text in found) or "none"


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    if "description" in schema:
        yield schema["description"]
        yield ""
    if "enum" in schema:
        added = schema.get("x-omnigraph-added-values", ())
        yield "One of " + ", ".join(f"`{word}`{'+' if word in added else ''}" for word in schema["enum"]) + "."
        yield ""
    elif "properties" in schema:
        required = schema.get("required", ())
        yield "| Member | Type |"
        yield "|---|---|"
        for member, value in schema["properties"].items():
            star = " (required)" if member in required else ""
            yield f"| `{member}`{_mark(value)} | {_type(value)}{star} |"
        yield ""
    else:
        yield f"{_type(schema)}."
        yield ""


def _mark(form: dict[str, Any]) -> str:
    return "+" if form.get("x-omnigraph-addition") else ""


def _type(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": reference}:
            name = str(reference).rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"oneOf": choices}:
            return " or ".join(_type(choice) for choice in choices)
        case {"type": "array", "items": items}:
            return f"list of {_type(items)}"
        case {"type": [kind, "null"]}:
            return f"{_type({**schema, 'type': kind})} or null"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object of {_type(values)}"
        case {"type": "null"}:
            return "null"
        case {"type": "string", "format": "binary"}:
            return "bytes"
        case {"type": kind}:
            return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(str(kind), str(kind))
        case _:
            return "any value"
