"""Rules of entity resolution in a YAML file: the type, and the rules as ``exec.resolve.read_rules`` reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from omnigraph.config.mapping_file import read_yaml
from omnigraph.errors import UsageError

_EXAMPLE = "for example {type: Person, blocks: [email], compare: {name: jaro_winkler}}"


class RulesFile(NamedTuple):
    """The type that a file names, if it does, and its rules."""

    type_name: str | None
    rules: dict[str, Any]


def read_rules_file(path: str | os.PathLike[str]) -> RulesFile:
    """Read the rules in a YAML file. They are checked when they are used, against the type."""
    name = os.fspath(path)
    found = read_yaml(name)
    if not isinstance(found, Mapping):
        raise UsageError(f"{name} contains no rules", hint=_EXAMPLE, path=name)
    type_name = found.get("type")
    if type_name is not None and not isinstance(type_name, str):
        raise UsageError(f"{name}: type must be the name of a node type, got {type_name!r}", hint=_EXAMPLE, path=name)
    return RulesFile(type_name, {str(key): value for key, value in found.items() if key != "type"})
