"""The OpenAPI document of an HTTP interface: a pure function of its operations and their models.

The form is that of Omnigraph 0.10: OpenAPI 3.1, nullable scalars as a list of types, nullable references as ``oneOf``,
no titles. What 0.10 does not have is marked, and left out on demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from omnigraph.wire.http.arrow import ARROW
from omnigraph.wire.http.models.base import ADDED_VALUES, ADDITION

TITLE: Final = "Omnigraph API"
SECURITY_SCHEME: Final = "bearer_token"
JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"

_REF: Final = "#/components/schemas/"
_PARAMETER_IN_PATH = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value in the query string or in a header. ``type`` is any type that pydantic has a schema for."""

    name: str
    type: Any = str
    description: str = ""
    required: bool = False
    where: Literal["query", "header", "path"] = "query"
    is_addition: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """A request body by media type; a media type without a model is raw bytes."""

    content: Mapping[str, type[BaseModel] | None]
    required: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: the model by media type, and headers with their meaning."""

    description: str
    content: Mapping[str, type[BaseModel] | None] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_addition: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path, as documentation."""

    method: str
    path: str
    id: str
    tag: str
    summary: str
    replies: Mapping[int, Reply]
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    deprecated: bool = False
    is_secured: bool = True
    is_addition: bool = False

    @property
    def path_parameters(self) -> list[str]:
        return _PARAMETER_IN_PATH.findall(self.path)


def openapi(
    operations: Sequence[Operation], *, version: str, secured: bool, only_reference: bool = False
) -> dict[str, Any]:
    """The document. Without ``secured``, no operation has a security requirement; an open server has none."""
    chosen = [item for item in operations if not (only_reference and item.is_addition)]
    paths: dict[str, dict[str, Any]] = {}
    for item in chosen:
        paths.setdefault(item.path, {})[item.method.lower()] = _operation(item, secured=secured)
    components: dict[str, Any] = {"schemas": _schemas(chosen)}
    if secured:
        components["securitySchemes"] = {SECURITY_SCHEME: {"type": "http", "scheme": "bearer"}}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": version},
        "paths": paths,
        "components": components,
    }
    return _reference_part(document) if only_reference else document


def _operation(operation: Operation, *, secured: bool) -> dict[str, Any]:
    form: dict[str, Any] = {"tags": [operation.tag], "summary": operation.summary, "operationId": operation.id}
    # The graph comes first: it is a part of every path below `/graphs`.
    named = {item.name: item for item in operation.parameters if item.where == "path"}
    parameters = [named.get(name, Parameter(name, where="path")) for name in operation.path_parameters]
    parameters += [item for item in operation.parameters if item.where != "path"]
    if parameters:
        form["parameters"] = [_parameter(item) for item in parameters]
    if operation.body is not None:
        content = _content(operation.body.content, is_request=True)
        form["requestBody"] = {"content": content, "required": operation.body.required}
    form["responses"] = {str(status): _reply(reply) for status, reply in sorted(operation.replies.items())}
    if operation.deprecated:
        form["deprecated"] = True
    if operation.is_addition:
        form[ADDITION] = True
    if secured and operation.is_secured:
        form["security"] = [{SECURITY_SCHEME: []}]
    return form


def _parameter(parameter: Parameter) -> dict[str, Any]:
    form: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.where,
        "required": parameter.required or parameter.where == "path",
        "schema": _inline(parameter.type),
    }
    if parameter.description:
        form["description"] = parameter.description
    if parameter.is_addition:
        form[ADDITION] = True
    return form


def _inline(type_: Any) -> Any:
    return _normal(_schema_of(type_)["items"])


def _schema_of(type_: Any) -> dict[str, Any]:
    # As the items of a list, because a named type at the top would be written out instead of referred to.
    return TypeAdapter(list[type_]).json_schema(ref_template=_REF + "{model}")


def _content(content: Mapping[str, type[BaseModel] | None], *, is_request: bool = False) -> dict[str, Any]:
    return {
        media: {
            "schema": {"$ref": _REF + model.__name__} if model is not None else _raw(media, is_request),
            # An answer of 0.10 is JSON or lines of it.
            **({ADDITION: True} if media == ARROW else {}),
        }
        for media, model in content.items()
    }


def _raw(media: str, is_request: bool) -> dict[str, Any]:
    # Generated clients send a body that is declared as a text as one JSON string, if its media type says JSON.
    is_text = media.startswith(("text/", "application/x-ndjson")) and not is_request
    return {"type": "string"} if is_text else {"type": "string", "format": "binary"}


def _reply(reply: Reply) -> dict[str, Any]:
    form: dict[str, Any] = {"description": reply.description}
    if reply.headers:
        form["headers"] = {
            name: {"description": meaning, "schema": {"type": "string"}} for name, meaning in reply.headers.items()
        }
    if reply.content:
        form["content"] = _content(reply.content)
    if reply.is_addition:
        form[ADDITION] = True
    return form


def _schemas(operations: Iterable[Operation]) -> dict[str, Any]:
    models = {model.__name__: model for item in operations for model in _models(item)}
    _, found = models_json_schema([(model, "validation") for model in models.values()], ref_template=_REF + "{model}")
    schemas: dict[str, Any] = dict(found.get("$defs", {}))
    for item in operations:
        for parameter in item.parameters:
            schemas.update(_schema_of(parameter.type).get("$defs", {}))
    return {name: _normal(schemas[name]) for name in sorted(schemas)}


def _models(operation: Operation) -> Iterable[type[BaseModel]]:
    bodies = [operation.body.content] if operation.body is not None else []
    for content in [*bodies, *(reply.content for reply in operation.replies.values())]:
        yield from (model for model in content.values() if model is not None)


def _normal(schema: Any) -> Any:
    """A schema as 0.10 writes it."""
    if isinstance(schema, list):
        return [_normal(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    form = {key: _normal(value) for key, value in schema.items() if key not in ("title", "default", "properties")}
    if "properties" in schema:
        # Below `properties` are names of members, which may be called like a keyword.
        form["properties"] = {name: _normal(value) for name, value in schema["properties"].items()}
    if isinstance(form.get("description"), str):
        form["description"] = form["description"].replace("``", "`")
    choices = form.get("anyOf")
    if choices is None:
        return form
    del form["anyOf"]
    given = [choice for choice in choices if choice != {"type": "null"}]
    is_nullable = len(given) < len(choices)
    if is_nullable and len(given) == 1 and isinstance(given[0].get("type"), str):
        return {**given[0], "type": [given[0]["type"], "null"], **form}
    return {"oneOf": [*([{"type": "null"}] if is_nullable else []), *given], **form}


def _reference_part(document: Any) -> Any:
    """The document without everything that is marked as an addition, and without schemas that nothing refers to."""
    part = _without_additions(document)
    schemas: dict[str, Any] = part["components"]["schemas"]
    reached: set[str] = set()
    waiting = list(_references(part["paths"]))
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _references(schemas[name])
    part["components"]["schemas"] = {name: schema for name, schema in schemas.items() if name in reached}
    return part


def _without_additions(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_additions(item) for item in value if not _is_addition(item)]
    if not isinstance(value, dict):
        return value
    form = {key: _without_additions(item) for key, item in value.items() if not _is_addition(item)}
    added = form.pop(ADDED_VALUES, None)
    if added is not None:
        form["enum"] = [word for word in form["enum"] if word not in added]
    if len(form.get("oneOf", ())) == 1:
        [only] = form.pop("oneOf")
        return {**only, **form}
    return form


def _is_addition(value: Any) -> bool:
    return isinstance(value, dict) and value.get(ADDITION) is True


def _references(value: Any) -> Iterable[str]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref":
                yield item.removeprefix(_REF)
            else:
                yield from _references(item)
