"""JSON bodies: strict decoding, and validation by a model, with the rejections that Omnigraph 0.10 gives.

Stricter than Python's decoder: UTF-8 without a mark, no NaN, no halves of surrogate pairs, no repeated known member
of the outermost object, and a bounded depth.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import AliasChoices, BaseModel, ValidationError

from omnigraph.server.http.refusals import Rejection
from omnigraph.server.limits import JSON_DEPTH_MAX

Model = TypeVar("Model", bound=BaseModel)

_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_MEDIA_TYPE: Final = re.compile(r"application/(?:json|[^;\s]+\+json)\s*(?:;.*)?", re.IGNORECASE)
_SYNTAX: Final = "Failed to parse the request body as JSON: "
_SHAPE: Final = "Failed to deserialize the JSON body into the target type: "


def is_json(content_type: str | None) -> bool:
    """True for ``application/json`` and for types that end in ``+json``, with or without parameters."""
    return content_type is not None and _MEDIA_TYPE.fullmatch(content_type.strip()) is not None


def require_json(content_type: str | None) -> None:
    """Reject a body of another media type."""
    if not is_json(content_type):
        raise Rejection(415, "Expected request with `Content-Type: application/json`")


def decode(data: bytes) -> Any:
    """The JSON value of a body; raises Rejection with status 400."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _malformed(f"invalid unicode code point at byte {error.start}") from None
    _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _malformed(f"{error.msg.lower()} at line {error.lineno} column {error.colno}") from None
    except (ValueError, RecursionError):
        # Python refuses to convert thousands of digits.
        raise _malformed("number out of range") from None
    if "\\u" in text and _has_surrogate(value):
        raise _malformed("lone surrogate in hex escape")
    return value


def validated(model: type[Model], value: Any) -> Model:
    """The value as a model; raises Rejection with status 422, which names the first problem."""
    if isinstance(value, _Members):
        for name in value.repeated:
            # Members that the model does not know are ignored, however often they occur.
            if name in _names(model):
                raise Rejection(422, f"{_SHAPE}duplicate field `{name}`")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise Rejection(422, _SHAPE + problem_text(error)) from None


@cache
def _names(model: type[BaseModel]) -> frozenset[str]:
    """The names that members of a model may have."""
    found: set[str] = set()
    for name, info in model.model_fields.items():
        alias = info.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else (alias or name,)
        found.update(choice for choice in choices if isinstance(choice, str))
    return frozenset(found)


def problem_text(error: ValidationError) -> str:
    """The first problem of a value: the member, and what is wrong with it. Values are not repeated."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"missing field `{place}`"
    if first["type"] == "extra_forbidden":
        return f"unknown field `{place}`"
    if first["type"] == "model_type":
        return f"{place}: expected an object" if place else "expected an object"
    if first["type"] == "value_error":
        # Said by a validator of ours, in its own words.
        return first["msg"].removeprefix("Value error, ")
    return f"{place}: {first['msg'].lower()}" if place else first["msg"].lower()


def _malformed(reason: str) -> Rejection:
    return Rejection(400, _SYNTAX + reason)


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= JSON_DEPTH_MAX:
        return
    depth = 0
    for char in _STRING.sub("", text):
        if char in "[{":
            depth += 1
            if depth > JSON_DEPTH_MAX:
                raise _malformed("recursion limit exceeded")
        elif char in "]}":
            depth -= 1


def _has_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return _SURROGATE.search(value) is not None
    if isinstance(value, Mapping):
        return any(_has_surrogate(part) for item in value.items() for part in item)
    return isinstance(value, list) and any(map(_has_surrogate, value))


class _Members(dict[str, Any]):
    """An object, and the members that it has twice, in their order. Of equal members the last one counts."""

    repeated: tuple[str, ...] = ()


def _members(pairs: list[tuple[str, Any]]) -> _Members:
    found = _Members(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        found.repeated = tuple(name for name, count in counts.items() if count > 1)
    return found


def _refuse_constant(name: str) -> Any:
    raise json.JSONDecodeError("expected value", name, 0)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_refuse_constant)
