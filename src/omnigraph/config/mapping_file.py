"""Mapping files: YAML that maps columns of tables to types and properties.

Owns reading the file and resolving paths relative to it. ``ingest.mapping`` checks the mapping.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from omnigraph.errors import UsageError
from omnigraph.lang.yaml_text import parse_yaml
from omnigraph.storage.objects.outside_files import unreadable


def read_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the mapping in a YAML file, for loads with either engine. Paths in it are relative to the file."""
    name = os.fspath(path)
    parsed = read_yaml(name)
    if not isinstance(parsed, Mapping):
        raise UsageError(f"{name} contains no mapping", hint="expected the keys `sources:` and `load:`", path=name)
    found = dict(parsed)
    sources = found.get("sources")
    if isinstance(sources, Mapping):
        directory = os.path.dirname(os.path.abspath(name))
        found["sources"] = {key: _resolved(value, directory) for key, value in sources.items()}
    return found


def read_yaml(name: str) -> object:
    """The parsed content of a YAML file."""
    try:
        with open(name, "rb") as file:
            return parse_yaml(file.read(), name)
    except OSError as error:
        raise unreadable(name, error) from error


def _resolved(source: object, directory: str) -> object:
    """A source with absolute paths; an invalid source is left for the check of the mapping."""
    match source:
        case str():
            return _absolute(source, directory)
        case list():
            return [_absolute(item, directory) if isinstance(item, str) else item for item in source]
        case {"path": path, **others}:
            return {**others, "path": _resolved(path, directory)}
        case _:
            return source


def _absolute(path: str, directory: str) -> str:
    return path if "://" in path else os.path.join(directory, path)
