"""Mapping files: YAML that maps columns of tables to types and properties.

Owns reading the file and resolving paths relative to it. ``spark.load.mapping`` checks and applies the mapping.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from omnigraph.errors import InputError, NotFoundError, UsageError


def read_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the mapping in a YAML file, for ``graph.load_spark``. Paths in it are relative to the file."""
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
    import yaml

    try:
        with open(name, "rb") as file:
            return yaml.load(file, _strict_loader())
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {name!r}", path=name) from error
    except OSError as error:
        raise UsageError(f"{name!r} cannot be read: {error.strerror or error}", path=name) from error
    except yaml.YAMLError as error:
        raise InputError(f"{name} is not YAML: {error}", path=name) from error


@cache
def _strict_loader() -> Any:
    """PyYAML's safe loader, which silently keeps the last of duplicate keys, changed to reject duplicates."""
    import yaml

    class Strict(yaml.SafeLoader):  # type: ignore[misc] # untyped
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: list[object] = []
            for key_node, _ in node.value:
                key = self.construct_object(key_node, deep=True)
                if key in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
                seen.append(key)
            return super().construct_mapping(node, deep)

    return Strict


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
