"""The operator's settings in ``~/.omnigraph/config.yaml``: actor, servers, clusters, profiles, aliases, output.

A missing file counts as empty. Unknown keys are remarks; a file that cannot be parsed is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar
from urllib.parse import urlsplit

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import InputError, NotFoundError

HOME_VARIABLE: Final = "OMNIGRAPH_HOME"
OUTPUTS: Final = ("table", "kv", "csv", "tsv", "jsonl", "ndjson", "json")
LAYOUTS: Final = ("truncate", "wrap")

Item = TypeVar("Item")

_KNOWN: Final = {
    "": ("operator", "servers", "defaults", "clusters", "profiles", "aliases"),
    "operator": ("actor",),
    "defaults": ("output", "server", "store", "default_graph", "table_max_column_width", "table_cell_layout"),
}
_SERVER_KEYS: Final = ("url",)
_CLUSTER_KEYS: Final = ("root",)
_PROFILE_KEYS: Final = ("server", "cluster", "store", "default_graph", "policy")
_ALIAS_KEYS: Final = ("server", "graph", "query", "args", "params", "format")
_BINDINGS: Final = ("server", "cluster", "store")
_PLURALS: Final = {"profile": "profiles", "server": "servers", "alias": "aliases"}


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
class Alias:
    """A short name of a stored read of a server, with the names of its positional arguments and usual parameters."""

    name: str
    query: str
    server: str | None = None
    graph: str | None = None
    args: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    format: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorConfig:
    """The settings of one file."""

    path: Path
    actor: str | None = None
    store: str | None = None
    server: str | None = None
    default_graph: str | None = None
    output: str | None = None
    table_width: int | None = None
    table_layout: str | None = None
    """None is the default of the place: cells wrap on a terminal, and are whole in files and pipes."""
    servers: Mapping[str, str] = field(default_factory=dict)
    """Addresses by name."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Directories or roots of storage by name."""
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    aliases: Mapping[str, Alias] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def profile(self, name: str) -> Profile:
        """A valid profile; raises NotFoundError for an unknown name, InputError for an invalid profile."""
        found = self._named(self.profiles, "profile", name)
        if found.problem is not None:
            raise InputError(found.problem, hint=f"correct it in {self.path}", profile=name)
        return found

    def alias(self, name: str) -> Alias:
        """An alias; raises NotFoundError for an unknown name."""
        return self._named(self.aliases, "alias", name)

    def server_url(self, named: str) -> str:
        """The address of a server that is given by its name, or itself; raises NotFoundError for an unknown name."""
        return named if "://" in named else self._named(self.servers, "server", named)

    def server_of(self, url: str) -> str | None:
        """The name of the server that an address belongs to: the longest address that it continues."""
        found = [(len(known), name) for name, known in self.servers.items() if _is_below(url, known)]
        return max(found)[1] if found else None

    def cluster_root(self, named: str) -> str:
        """The directory or root of a cluster that is given by its name, or itself."""
        return self.clusters.get(named, named)

    def _named(self, known: Mapping[str, Item], kind: str, name: str) -> Item:
        found = known.get(name)
        if found is None:
            hint = did_you_mean(name, list(known)) or f"{_PLURALS[kind]} are defined in {self.path}"
            raise NotFoundError(f"no such {kind}: {name!r}", hint=hint, **{kind: name})
        return found


def _is_below(url: str, known: str) -> bool:
    """True if an address is another one or below it; hosts and paths that only begin alike are not."""
    (host, path), (base, above) = _divided(url), _divided(known)
    return host == base and (path == above or path.startswith(f"{above}/"))


def _divided(url: str) -> tuple[tuple[str, str], str]:
    """Scheme and host, in which case has no meaning, and the path, in which it has."""
    parts = urlsplit(url)
    return (parts.scheme.lower(), parts.netloc.lower()), parts.path.rstrip("/")


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
        if defaults.get("store") and defaults.get("default_graph"):
            self._refuse("defaults.default_graph", "is a graph of a server, but defaults names a store")
        return OperatorConfig(
            path=self._path,
            actor=self._text(operator, "operator", "actor"),
            store=self._text(defaults, "defaults", "store"),
            output=self._one_of(defaults, "output", OUTPUTS),
            table_width=self._width(defaults),
            table_layout=self._one_of(defaults, "table_cell_layout", LAYOUTS),
            server=self._text(defaults, "defaults", "server"),
            default_graph=self._text(defaults, "defaults", "default_graph"),
            servers=self._addresses(top.get("servers"), "servers", _SERVER_KEYS),
            clusters=self._addresses(top.get("clusters"), "clusters", _CLUSTER_KEYS),
            profiles=self._profiles(top.get("profiles")),
            aliases=self._aliases(top.get("aliases")),
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

    def _addresses(self, parsed: object, section: str, keys: tuple[str]) -> dict[str, str]:
        """Names with one address each."""
        (key,) = keys
        found = {}
        for name, body in self._mapping(parsed, section).items():
            place = f"{section}.{name}"
            found[name] = self._required(self._section(body, place, keys), place, key)
        return found

    def _aliases(self, parsed: object) -> dict[str, Alias]:
        aliases = {}
        for name, body in self._mapping(parsed, "aliases").items():
            place = f"aliases.{name}"
            known = self._section(body, place, _ALIAS_KEYS)
            server, graph, form = (self._text(known, place, key) for key in ("server", "graph", "format"))
            query = self._required(known, place, "query")
            if form is not None and form not in OUTPUTS:
                self._refuse(f"{place}.format", f"must be one of {', '.join(OUTPUTS)}, not {form!r}")
            args = known.get("args") or []
            if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
                self._refuse(f"{place}.args", f"must be a list of parameter names, not {args!r}")
            params = self._mapping(known.get("params"), f"{place}.params")
            aliases[name] = Alias(name, query, server, graph, tuple(args), params, form)
        return aliases

    def _required(self, section: Mapping[str, Any], place: str, key: str) -> str:
        found = self._text(section, place, key)
        if found is None:
            self._refuse(place, f"needs the key {key}")
        return found

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
