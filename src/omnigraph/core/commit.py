"""Graph commits: the record of one write, with its author and its parents, and the stored form of that record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.display import Display, Displayed
from omnigraph.core.tables import FileRecord, changes_display

RECENT_COMMITS_MAX: Final = 1024
"""Commits whose stored and decoded forms are cached. Every state repeats the recent commits of its branch."""


class CommitKind(StrEnum):
    """The operation that made a commit. Only ``MAINTENANCE`` leaves the content of the graph unchanged."""

    INIT = "init"
    MUTATION = "mutation"
    LOAD = "load"
    MERGE = "merge"
    SCHEMA = "schema"
    MAINTENANCE = "maintenance"
    REVERT = "revert"
    REFRESH = "refresh"

    @property
    def is_logical(self) -> bool:
        return self is not CommitKind.MAINTENANCE


@dataclass(frozen=True, slots=True)
class TableChange:
    """One table that a commit changed: its versions before and after, and the number of entities per kind of change.

    Versions are (lance version, table version, rows); ``before`` is None for a new table, ``after`` for a dropped one.
    """

    key: str
    location: str
    before: tuple[int, int, int] | None
    after: tuple[int, int, int] | None
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class GraphCommit(Displayed):
    """One atomic change of the whole graph. ``manifest`` locates the state it left behind."""

    id: str
    parents: tuple[str, ...]
    branch: str
    kind: CommitKind
    created_at_us: int
    manifest: ManifestPlace
    schema_digest: str
    actor: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
    tables: tuple[TableChange, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    files: tuple[FileRecord, ...] = ()

    def __hash__(self) -> int:
        return hash(self.id)

    def _display(self) -> Display:
        parts = [f" by {self.actor}" if self.actor else "", f", {self.message!r}" if self.message else ""]
        return changes_display(
            f"GraphCommit {self.id} on {self.branch}: {self.kind.value}{''.join(parts)}", self.tables
        )


@dataclass(frozen=True, slots=True)
class ManifestPlace:
    """Location of a commit's state: the branch's incarnation, the version of its manifest, and the public counter."""

    incarnation: str
    version: int
    counter: int


def commit_to_json(commit: GraphCommit) -> dict[str, Any]:
    """The stored form."""
    return {
        "id": commit.id,
        "parents": list(commit.parents),
        "branch": commit.branch,
        "kind": commit.kind.value,
        "created_at": commit.created_at_us,
        "manifest": [commit.manifest.incarnation, commit.manifest.version, commit.manifest.counter],
        "schema": commit.schema_digest,
        "actor": commit.actor,
        "message": commit.message,
        "idempotency_key": commit.idempotency_key,
        "tables": [
            [c.key, c.location, _listed(c.before), _listed(c.after), c.inserted, c.updated, c.deleted]
            for c in commit.tables
        ],
        "provenance": dict(commit.provenance),
        "files": [[record.path, record.size, record.checksum] for record in commit.files],
    }


@lru_cache(maxsize=RECENT_COMMITS_MAX)
def commit_text(commit: GraphCommit) -> str:
    """The stored form as text. Every publish stores the newest commits again, so the text of each is cached."""
    return json.dumps(commit_to_json(commit), separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=RECENT_COMMITS_MAX)
def commit_from_text(text: str) -> GraphCommit:
    """The commit of a stored text. A state that another process published repeats all its recent commits but one."""
    return commit_from_json(json.loads(text))


def commit_from_json(stored: Mapping[str, Any]) -> GraphCommit:
    """The commit of a stored form."""
    return GraphCommit(
        id=stored["id"],
        parents=tuple(stored["parents"]),
        branch=stored["branch"],
        kind=CommitKind(stored["kind"]),
        created_at_us=stored["created_at"],
        manifest=ManifestPlace(*stored["manifest"]),
        schema_digest=stored["schema"],
        actor=stored["actor"],
        message=stored["message"],
        idempotency_key=stored["idempotency_key"],
        tables=tuple(
            TableChange(key, location, _version(before), _version(after), inserted, updated, deleted)
            for key, location, before, after, inserted, updated, deleted in stored["tables"]
        ),
        provenance=dict(stored["provenance"]),
        files=tuple(FileRecord(*record) for record in stored["files"]),
    )


def _listed(version: tuple[int, int, int] | None) -> list[int] | None:
    return None if version is None else list(version)


def _version(listed: list[int] | None) -> tuple[int, int, int] | None:
    return None if listed is None else (listed[0], listed[1], listed[2])
