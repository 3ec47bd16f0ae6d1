"""The operator's settings in ``~/.omnigraph/config.yaml``: actor, default graph, profiles and output format.

A missing file counts as empty. Unknown keys are remarks; a file that cannot be parsed is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import InputError, NotFoundError

HOME_VARIABLE: Final = "OMNIGRAPH_HOME"
OUTPUTS: Final = ("table", "kv", "csv", "tsv", "jsonl", "ndjson", "json")
LAYOUTS: Final = ("truncate", "wrap")

_KNOWN: Final = {
    "": ("operator", "servers", "defaults", "clusters", "profiles", "aliases"),
    "operator": ("actor",),
    "defaults": ("output", "server", "store", "default_graph", "table_max_column_width", "table_cell_layout"),
}
_PROFILE_KEYS: Final = ("server", "cluster", "store", "default_graph", "policy")
_BINDINGS: Final = ("server", "cluster", "store")


@dataclass(frozen=True, slots=True)
class Profile:
    """A named location: exactly one of a store, a server and a cluster."""

    name: str
    bindings: Mapping[str, str]
    default_graph: str | None = None
    policy: str | None = None
    """The file of the bundle that decides about calls to a store."""

    @property
    def problem(self) -> str | None:
        """The reason why the profile cannot be used, or None. It is reported only when the profile is used."""
        if len(self.bindings) == 1:
            return None
        found = " and ".join(self.bindings) or "none of them"
        return f"profile {self.name!r} names {found}, but must name exactly one of {', '.join(_BINDINGS)}"


@dataclass(frozen=True, slots=True)
class OperatorConfig:
    """The settings of one file."""

    path: Path
    actor: str | None = None
    store: str | None = None
    output: str | None = None
    table_width: int | None = None
    table_layout: str | None = None
    """None is the default of the place: cells wrap on a terminal, and are whole in files and pipes."""
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def profile(self, name: str) -> Profile:
        """A valid profile; raises NotFoundError for an unknown name, InputError for an invalid profile."""
        found = self.profiles.get(name)
        if found is None:
            hint = did_you_mean(name, list(self.profiles)) or f"profiles are defined in {self.path}"
            raise NotFoundError(f"no such profile: {name!r}", hint=hint, profile=name)
        if found.problem is not None:
            raise InputError(found.problem, hint=f"correct it in {self.path}", profile=name)
        return found


def config_path(environment: Mapping[str, str]) -> Path:
    """The path of the settings: in ``OMNIGRAPH_HOME``, else below the home directory."""
    home = environment.get(HOME_VARIABLE)
    return Path(os.path.expanduser(home) if home else Path.home() / ".omnigraph") / "config.yaml"


def read_config(path: Path) -> OperatorConfig:
    """Read the settings; a missing file gives empty settings."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return OperatorConfig(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", path=str(path)) from error
    import yaml

    try:
        parsed = yaml.safe_load(content) or {}
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not YAML: {error}", path=str(path)) from error
    return _Reader(path).config(parsed)


class _Reader:
    """Checks parsed YAML and names the position of every mistake."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._remarks: list[str] = []

    def config(self, parsed: object) -> OperatorConfig:
        top = self._section(parsed, "")
        operator = self._section(top.get("operator"), "operator")
        defaults = self._section(top.get("defaults"), "defaults")
        if defaults.get("server") and defaults.get("store"):
            self._refuse("defaults", "names a server and a store, but only one of them is allowed")
        return OperatorConfig(
            path=self._path,
            actor=self._text(operator, "operator", "actor"),
            store=self._text(defaults, "defaults", "store"),
            output=self._one_of(defaults, "output", OUTPUTS),
            table_width=self._width(defaults),
            table_layout=self._one_of(defaults, "table_cell_layout", LAYOUTS),
            profiles=self._profiles(top.get("profiles")),
            remarks=tuple(self._remarks),
        )

    def _profiles(self, parsed: object) -> dict[str, Profile]:
        profiles = {}
        for name, body in self._mapping(parsed, "profiles").items():
            place = f"profiles.{name}"
            known = self._section(body, place, _PROFILE_KEYS)
            bindings = {key: text for key in _BINDINGS if (text := self._text(known, place, key)) is not None}
            graph, policy = (self._text(known, place, key) for key in ("default_graph", "policy"))
            profiles[name] = Profile(name, bindings, graph, policy)
        return profiles

    def _section(self, parsed: object, place: str, keys: tuple[str, ...] | None = None) -> dict[str, Any]:
        known = keys if keys is not None else _KNOWN[place]
        found = self._mapping(parsed, place)
        for key in found:
            if key not in known:
                where = f"{place}.{key}" if place else key
                self._remarks.append(f"{self._path}: {where} is an unknown key and has no effect")
        return found

    def _mapping(self, parsed: object, place: str) -> dict[str, Any]:
        if parsed is None:
            return {}
        if not isinstance(parsed, dict) or not all(isinstance(key, str) for key in parsed):
            self._refuse(place or "the file", "must be a mapping of names to values")
        return parsed

    def _text(self, section: Mapping[str, Any], place: str, key: str) -> str | None:
        value = section.get(key)
        if value is not None and not (isinstance(value, str) and value):
            self._refuse(f"{place}.{key}", f"must be a text, not {value!r}")
        return value

    def _one_of(self, section: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str | None:
        value = self._text(section, "defaults", key)
        if value is not None and value not in choices:
            self._refuse(f"defaults.{key}", f"must be one of {', '.join(choices)}, not {value!r}")
        return value

    def _width(self, defaults: Mapping[str, Any]) -> int | None:
        value = defaults.get("table_max_column_width")
        if value is not None and not (isinstance(value, int) and not isinstance(value, bool) and value > 1):
            self._refuse("defaults.table_max_column_width", f"must be a number above 1, not {value!r}")
        return value

    def _refuse(self, place: str, what: str) -> NoReturn:
        raise InputError(f"{self._path}: {place} {what}", path=str(self._path))
