"""Members of free-form data as texts: a list of them is a property that queries compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def fact(name: str, value: Any) -> str:
    """A member as a text, equal for equal values."""
    return f"{name}={json.dumps(value, sort_keys=True, default=str)}"


def facts(members: Mapping[str, Any]) -> list[str]:
    """All members as texts."""
    return [fact(name, value) for name, value in members.items()]


def kept(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The properties that keep members: their JSON under a name, and ``facts``."""
    content = json.dumps(members, default=str)
    return {name: content, "facts": facts(json.loads(content))}
