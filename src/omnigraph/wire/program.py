"""Answers of the program about itself and about files, which belong to no graph, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from omnigraph.embed.lines import LineEmbedding


def version_json(version: str, storage_format: int) -> dict[str, Any]:
    """The version of the program and the storage format that it reads and writes."""
    return {"version": version, "format": storage_format}


class NamedProfile(Protocol):
    """A profile of the operator's settings; ``config`` stands beside this package and cannot be imported."""

    @property
    def name(self) -> str: ...
    @property
    def bindings(self) -> Mapping[str, str]: ...
    @property
    def default_graph(self) -> str | None: ...
    @property
    def problem(self) -> str | None: ...


def profile_json(profile: NamedProfile, *, active: bool) -> dict[str, Any]:
    """A profile. ``scope_kind`` and ``target`` are null unless it has exactly one binding."""
    kind, target = next(iter(profile.bindings.items())) if len(profile.bindings) == 1 else (None, None)
    return {
        "name": profile.name,
        "binding": dict(profile.bindings),
        "scope_kind": kind,
        "target": target,
        "valid": profile.problem is None,
        "error": profile.problem,
        "default_graph": profile.default_graph,
        "active": active,
    }


def login_json(server: str, url: str | None, path: str | None) -> dict[str, Any]:
    """A stored token; ``path`` is null if it is in the keyring, ``url`` if the settings do not name the server."""
    return {"server": server, "url": url, "stored_in": "keyring" if path is None else "file", "path": path}


def logout_json(server: str) -> dict[str, Any]:
    """A token that was removed."""
    return {"server": server, "removed": True}


def formatted_file_json(
    path: str,
    status: str,
    *,
    error: Mapping[str, Any] | None = None,
    text: str | None = None,
    diff: str | None = None,
) -> dict[str, Any]:
    """One file of ``fmt``: the members of its error, or the text and diff that were wanted."""
    form: dict[str, Any] = {"path": path, "status": status, **(error or {})}
    if text is not None:
        form["text"] = text
    if diff is not None:
        form["diff"] = diff
    return form


def formatted_files_json(files: Iterable[Mapping[str, Any]], *, failed: bool) -> dict[str, Any]:
    """All files of one run of ``fmt``."""
    return {"status": "error" if failed else "ok", "files": list(files)}


def embedded_file_json(run: LineEmbedding, source: str, target: str) -> dict[str, Any]:
    """A file of JSON lines whose vectors were made or removed; ``model`` is null if none were made."""
    from omnigraph.embed.lines import Mode

    return {
        "input": source,
        "output": target,
        "records": run.records,
        "selected_records": run.selected,
        "embedded_records": run.embedded,
        "cleaned_records": run.cleaned,
        "mode": run.mode.value,
        "dimension": run.spec.dimension,
        "model": None if run.mode is Mode.CLEAN else run.embedder.model,
    }
