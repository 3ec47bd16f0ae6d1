"""The state of a branch as one value, and as the rows of ``__manifest`` that store it.

The first five columns of a row are those of Lance's directory namespace, so Lance tools can list the tables. The head
row carries a digest over all rows: Lance files have no checksum, and a flipped bit would be read as another pin.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.commit import GraphCommit, commit_from_text, commit_text
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.errors import CorruptionError

COMMIT_LOG_KEY = "log:commits"
COMMIT_LOG_LOCATION = "__commits"
_HEAD = "graph_head"


class ManifestRow(NamedTuple):
    """One row of ``__manifest``."""

    object_id: str
    object_type: str
    location: str | None = None
    metadata: str | None = None
    base_objects: list[str] | None = None
    table_key: str | None = None
    table_version: int | None = None
    lance_version: int | None = None
    row_count: int | None = None


@dataclass(frozen=True, slots=True)
class Fence:
    """The newest cleanup that announced deletions on this branch.

    This and earlier cleanups delete unreferenced files last written before ``cutoff_us``, by the clock of the store,
    except those that jobs had journaled before ``anchor_us``. A write staged before the fence may have lost its files.
    """

    number: int = 0
    cutoff_us: int = 0
    anchor_us: int = 0


@dataclass(frozen=True)
class ManifestState:
    """The pins of a branch at one moment, with its schema, its head and its newest commits (oldest first).

    * ``version``: manifest version that this state was read from or will be written as.
    * ``counter``: public number of the state; a fork continues the count of its parent.
    * ``previous``: files of the preceding manifest version, so that damage to it is detected from this one.
    * ``unconfirmed``: fence under which a new branch was copied from its parent, until its first commit.
    * ``renaming``: the new name and the token of a rename in progress.

    A state without a branch name is that of a deleted branch.
    """

    branch: str
    incarnation: str
    version: int
    counter: int
    head: str
    schema_digest: str
    tables: Mapping[str, TablePin]
    commits: tuple[GraphCommit, ...]
    log: TablePin | None = None
    fence: Fence = Fence()
    previous: tuple[FileRecord, ...] = ()
    unconfirmed: int | None = None
    renaming: str | None = None

    def commit(self, commit_id: str) -> GraphCommit | None:
        """A recent commit by its id."""
        return next((commit for commit in reversed(self.commits) if commit.id == commit_id), None)

    def with_idempotency_key(self, key: str) -> GraphCommit | None:
        """The recent commit with this idempotency key."""
        return next((commit for commit in reversed(self.commits) if commit.idempotency_key == key), None)


def to_rows(state: ManifestState) -> list[ManifestRow]:
    """The rows that store a state."""
    head: dict[str, Any] = {
        "commit": state.head,
        "counter": state.counter,
        "incarnation": state.incarnation,
        "branch": state.branch,
    }
    if state.fence.number:
        head["fence"] = [state.fence.number, state.fence.cutoff_us, state.fence.anchor_us]
    if state.unconfirmed is not None:
        head["unconfirmed"] = state.unconfirmed
    if state.renaming is not None:
        head["renaming"] = state.renaming
    if state.previous:
        head["previous"] = [[record.path, record.size, record.checksum] for record in state.previous]
    rows = [
        ManifestRow(f"graph_head:{state.branch}", _HEAD, metadata=_compact(head)),
        ManifestRow("schema", "schema", schema_path(state.schema_digest), _compact({"digest": state.schema_digest})),
    ]
    pins = [*state.tables.values()] + ([state.log] if state.log else [])
    for pin in pins:
        kind = "log" if pin.key == COMMIT_LOG_KEY else "external" if pin.is_external else "table"
        rows.append(
            ManifestRow(
                object_id=pin.key,
                object_type=kind,
                location=pin.location,
                table_key=pin.key,
                table_version=pin.table_version,
                lance_version=pin.lance_version,
                row_count=pin.rows,
            )
        )
    for commit in state.commits:
        rows.append(ManifestRow(f"graph_commit:{commit.id}", "graph_commit", metadata=commit_text(commit)))
    return sealed(rows)


def sealed(rows: list[ManifestRow]) -> list[ManifestRow]:
    """The rows with a digest over all of them in the head row."""
    _, plain = _unsealed(rows)
    digest = _digest(plain)
    return [_with_head(row, digest) if row.object_type == _HEAD else row for row in plain]


def _with_head(row: ManifestRow, digest: str) -> ManifestRow:
    return row._replace(metadata=_compact({**json.loads(row.metadata or "{}"), "digest": digest}))


def _unsealed(rows: list[ManifestRow]) -> tuple[str | None, list[ManifestRow]]:
    """The digest of the head row, and the rows it covers. Manifests of earlier releases have none."""
    for place, row in enumerate(rows):
        if row.object_type == _HEAD:
            head = json.loads(row.metadata or "{}")
            digest = head.pop("digest", None)
            return digest, [*rows[:place], row._replace(metadata=_compact(head)), *rows[place + 1 :]]
    return None, rows


def _digest(rows: Iterable[ManifestRow]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update("\x1f".join(map(str, row)).encode())
        digest.update(b"\x1e")
    return digest.hexdigest()[:32]


def schema_path(digest: str) -> str:
    """The path of a stored schema."""
    return f"schemas/{digest.removeprefix('sha256:')}.json"


def from_rows(rows: Iterable[ManifestRow], version: int) -> ManifestState:
    """Decode a state; raises CorruptionError if the rows do not match their digest or cannot be read.

    Rows of unknown kinds are skipped, so that a later release may add some.
    """
    try:
        return _from_rows(list(rows), version)
    except (KeyError, ValueError, TypeError, AssertionError, AttributeError) as error:
        raise CorruptionError(f"a row of the manifest cannot be read: {error!r}", version=version) from error


def _from_rows(rows: list[ManifestRow], version: int) -> ManifestState:
    head: dict[str, Any] = {}
    schema_digest = ""
    tables: dict[str, TablePin] = {}
    log: TablePin | None = None
    commits: list[GraphCommit] = []
    digest, plain = _unsealed(rows)
    if digest is not None and digest != _digest(plain):
        raise CorruptionError("the rows of the manifest do not match their digest", version=version)
    for row in plain:
        match row.object_type:
            case "graph_head":
                head = json.loads(row.metadata or "{}")
            case "schema":
                schema_digest = json.loads(row.metadata or "{}")["digest"]
            case "table" | "external":
                tables[row.object_id] = _pin(row)
            case "log":
                log = _pin(row)
            case "graph_commit":
                commits.append(commit_from_text(row.metadata or "{}"))
    return ManifestState(
        branch=head["branch"],
        incarnation=head["incarnation"],
        version=version,
        counter=head["counter"],
        head=head["commit"],
        schema_digest=schema_digest,
        tables=tables,
        commits=tuple(commits),
        log=log,
        fence=Fence(*head.get("fence", ())),
        previous=tuple(FileRecord(*record) for record in head.get("previous", ())),
        unconfirmed=head.get("unconfirmed"),
        renaming=head.get("renaming"),
    )


def _pin(row: ManifestRow) -> TablePin:
    assert row.location is not None
    assert row.lance_version is not None
    return TablePin(row.object_id, row.location, row.lance_version, row.table_version or 0, row.row_count or 0)


def _compact(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def fork(state: ManifestState, branch: str, incarnation: str, fence: Fence) -> ManifestState:
    """The first state of a new branch: a copy of its parent.

    ``fence`` is the newest one known before the state of the parent was read.
    """
    return replace(
        state,
        branch=branch,
        incarnation=incarnation,
        version=0,
        previous=(),
        fence=fence,
        unconfirmed=fence.number,
        renaming=None,
    )
