"""Embedding specifications: YAML or JSON with the dimension, and for each type the target property and text fields.

A seed also names the input and output files, relative to itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from omnigraph.config.mapping_file import read_yaml
from omnigraph.embed.lines import EmbedSpec, TypeSpec
from omnigraph.errors import InputError

_EXAMPLE = "for example {dimension: 1536, types: {Person: {target: embedding, fields: [name, bio]}}}"


class Seed(NamedTuple):
    """A specification with its input and output files."""

    input: str
    output: str
    spec: EmbedSpec


def read_spec(path: str) -> EmbedSpec:
    """Read a specification."""
    return _spec(_mapping(path), path)


def read_seed(path: str) -> Seed:
    """Read a specification that names its input and output."""
    found = _mapping(path)
    directory = os.path.dirname(os.path.abspath(path))
    places = []
    for key in ("input", "output"):
        if not isinstance(found.get(key), str):
            raise InputError(f"{path} does not name its {key}", hint=f"add {key}: FILE.jsonl", path=path)
        places.append(os.path.join(directory, str(found[key])))
    return Seed(places[0], places[1], _spec({k: v for k, v in found.items() if k not in ("input", "output")}, path))


def _mapping(path: str) -> Mapping[Any, Any]:
    found = read_yaml(path)
    if not isinstance(found, Mapping):
        raise InputError(f"{path} contains no specification", hint=_EXAMPLE, path=path)
    return found


def _spec(found: Mapping[Any, Any], path: str) -> EmbedSpec:
    unknown = sorted(str(key) for key in found.keys() - {"dimension", "types"})
    dimension, types = found.get("dimension"), found.get("types")
    if unknown:
        raise InputError(f"{path}: unknown key {unknown[0]!r}", hint=_EXAMPLE, path=path)
    if not isinstance(dimension, int) or isinstance(dimension, bool) or dimension < 1:
        raise InputError(f"{path}: dimension must be a whole number above 0, not {dimension!r}", path=path)
    if not isinstance(types, Mapping) or not types:
        raise InputError(f"{path}: types must name at least one type", hint=_EXAMPLE, path=path)
    return EmbedSpec(dimension, {str(name): _type(str(name), parsed, path) for name, parsed in types.items()})


def _type(name: str, parsed: object, path: str) -> TypeSpec:
    match parsed:
        case {"target": str(target), "fields": [*fields], **others} if fields and not others:
            return TypeSpec(target, tuple(map(str, fields)))
        case _:
            raise InputError(f"{path}: {name} needs a target and a list of fields", hint=_EXAMPLE, path=path)
