"""The commit log: commits that no longer fit into the manifest, as rows of the ``__commits`` table.

The table grows by detached versions, and its pin moves in the same swap that drops the commits from the manifest. So a
commit is always in exactly one of the two. Rows are in the order of the commits, parents before children. A spill folds
the last fragments, so the requests of a lookup grow with the logarithm of the number of spills.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from omnigraph.core.commit import GraphCommit, commit_from_json, commit_text
from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.errors import CorruptionError
from omnigraph.history.commits import first_parents
from omnigraph.history.state import COMMIT_LOG_KEY, COMMIT_LOG_LOCATION, ManifestState
from omnigraph.storage.tables.filters import AllOf, Comparison
from omnigraph.storage.tables.lance_table import open_table
from omnigraph.storage.tables.port import TableFragment
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store

_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("created_at", pa.int64(), nullable=False),
        pa.field("actor", pa.string()),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("idempotency_key", pa.string()),
        pa.field("body", pa.string(), nullable=False),
    ]
)


_CHECKSUM_KEY = ',"checksum":'
_FIRST_GROUP_ROWS = 256
"""Commits that a reader of the log takes first."""
_AFTER_IDS = "~"
"""A character that sorts after every character of an id."""


def create_log(store: Store) -> tuple[TablePin, tuple[FileRecord, ...]]:
    """The empty, durable log of a new graph, and its files, which the first spill will refer to."""
    from omnigraph.storage.stage import staging

    staged = staging.create_table(store, COMMIT_LOG_LOCATION, _SCHEMA)
    staging.sync_created(store, [staged])
    return TablePin(COMMIT_LOG_KEY, COMMIT_LOG_LOCATION, staged.version, 1, 0), staged.files


def spill(store: Store, state: ManifestState) -> ManifestState:
    """The state with its old commits moved to the log, if it holds too many.

    Commits of the version being written stay: the state at one of them is computed by undoing the later ones.
    """
    if len(state.commits) <= store.tuning.recent_commits_max or state.log is None:
        return state
    # A version number is meaningless without its incarnation: a fork carries commits of its parent's manifest.
    newest = tuple(commit for commit in state.commits if _is_of(state, commit))
    old = tuple(commit for commit in state.commits if not _is_of(state, commit))
    from omnigraph.storage.stage import staging
    from omnigraph.storage.stage.fold import fold_in_order

    pin = state.log
    base = store.open(pin.location, pin.lance_version)
    rows, replaced = fold_in_order(store, base, pin.location, _to_arrow(old))
    written = staging.write_rows(store, base, pin.location, rows, settles_later=True)
    staged = staging.stage_delta(store, base, pin.location, [written], [], replaced, settles_later=True)
    staging.sync_staged(store, staged)
    moved = TablePin(pin.key, pin.location, staged.version, pin.table_version + 1, staged.rows)
    # Recorded with the newest commit, because its state is the first that refers to these files.
    newest = (*newest[:-1], replace(newest[-1], files=(*newest[-1].files, *staged.files)))
    return replace(state, commits=newest, log=moved)


def _is_of(state: ManifestState, commit: GraphCommit) -> bool:
    return (commit.manifest.incarnation, commit.manifest.version) == (state.incarnation, state.version)


def _to_arrow(commits: tuple[GraphCommit, ...]) -> pa.Table:
    rows = [
        {
            "id": commit.id,
            "created_at": commit.created_at_us,
            "actor": commit.actor,
            "kind": commit.kind.value,
            "idempotency_key": commit.idempotency_key,
            "body": _body(commit),
        }
        for commit in commits
    ]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _body(commit: GraphCommit) -> str:
    """The stored form of a commit, with a checksum of the text as its last key."""
    text = commit_text(commit)
    return f'{text[:-1]}{_CHECKSUM_KEY}"{_checksum(text)}"}}'


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _commit(body: str) -> GraphCommit:
    """The commit of a row. Earlier versions wrote rows without a checksum."""
    text, is_sealed, checksum = body.rpartition(_CHECKSUM_KEY)
    if is_sealed and checksum != f'"{_checksum(f"{text}}}")}"}}':
        raise _damaged("the checksum of a row does not match")
    try:
        return commit_from_json(json.loads(body))
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(f"a row is no commit ({error!r})") from error


def _damaged(reason: str) -> CorruptionError:
    return CorruptionError(
        f"the commit log {COMMIT_LOG_LOCATION} is damaged: {reason}",
        hint=verify_hint("lists the damaged file, if its checksum was recorded"),
        location=COMMIT_LOG_LOCATION,
    )


def newest_first(store: Store, state: ManifestState) -> Iterator[GraphCommit]:
    """Every commit of a branch and of what was merged into it, each before its parents."""
    yield from reversed(state.commits)
    if state.log is not None:
        yield from spilled(store, state.log)


def spilled(store: Store, log: TablePin) -> Iterator[GraphCommit]:
    """The commits of a version of the log, newest first. It is read as far as it is iterated."""
    if not log.rows:
        return
    for group, rows in _newest_groups([(item.number, item.rows) for item in _fragments(store, log)]):
        yield from _read(store, log, group, rows)


class DistinctLogs:
    """Logs of several branches. Branches share most fragments of their logs, and each is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: set[str] = set()

    def commits(self, log: TablePin) -> Iterator[GraphCommit]:
        """The commits of a version of the log, without those of fragments that were read before."""
        unread = [item for item in _fragments(self._store, log) if item.data not in self._read] if log.rows else []
        for item in reversed(unread):
            found = list(_read(self._store, log, [item.number], item.rows))
            # A damaged fragment is read again, and reported, for each log that has it.
            self._read.add(item.data)
            yield from found


def _fragments(store: Store, log: TablePin) -> Sequence[TableFragment]:
    found = open_table(store, log).fragments()
    if (rows := sum(item.rows for item in found)) != log.rows:
        raise _damaged(f"it has {rows} rows, not {log.rows}")
    return found


def _read(store: Store, log: TablePin, fragments: list[int], rows: int) -> Iterator[GraphCommit]:
    """The commits of some fragments, newest first."""
    batches = scan(store, log, ["body"], fragments=fragments)
    bodies = [body for batch in batches for body in batch.column("body").to_pylist()]
    if len(bodies) != rows:
        raise _damaged(f"{len(bodies)} rows were read instead of {rows}")
    return (_commit(body) for body in reversed(bodies))


def _newest_groups(fragments: list[tuple[int, int]]) -> Iterator[tuple[list[int], int]]:
    """Fragments in groups, the newest group first, with their rows.

    Most readers want commits near the head, so the first group is small. Each one is at least as large as all before
    it together, so that a reader of the whole log makes few requests.
    """
    group: list[int] = []
    held, read = 0, _FIRST_GROUP_ROWS
    for number, rows in reversed(fragments):
        group.insert(0, number)
        held += rows
        if held >= read:
            yield group, held
            group, held, read = [], 0, read + held
    if group:
        yield group, held


def find_commit(store: Store, state: ManifestState, commit_id: str) -> GraphCommit | None:
    """A commit of the branch by id."""
    return state.commit(commit_id) or _find(store, state, "id", commit_id)


def find_by_idempotency_key(store: Store, state: ManifestState, key: str) -> GraphCommit | None:
    """The commit that was made under an idempotency key."""
    return state.with_idempotency_key(key) or _find(store, state, "idempotency_key", key)


def _find(store: Store, state: ManifestState, column: str, value: str) -> GraphCommit | None:
    if state.log is None or not state.log.rows:
        return None
    where = Comparison(column, "=", pa.scalar(value, pa.string()))
    for batch in scan(store, state.log, ["body"], where):
        for body in batch.column("body").to_pylist():
            return _commit(body)
    return None


def ids_starting_with(store: Store, log: TablePin, prefix: str, matches_max: int) -> list[str]:
    """Ids of commits in a version of the log that begin with a prefix. Only ids are read, until there are enough."""
    if not log.rows:
        return []
    bounds = (Comparison("id", ">=", pa.scalar(prefix)), Comparison("id", "<", pa.scalar(f"{prefix}{_AFTER_IDS}")))
    found: list[str] = []
    for batch in scan(store, log, ["id"], AllOf(bounds)):
        found += batch.column("id").to_pylist()
        if len(found) >= matches_max:
            break
    return found[:matches_max]


def commits_since(store: Store, current: ManifestState, base_head: str) -> list[GraphCommit]:
    """The commits published after ``base_head``, oldest first; all commits if it is not among them."""
    since: list[GraphCommit] = []
    for commit in first_parents(newest_first(store, current), current.head):
        if commit.id == base_head:
            break
        since.append(commit)
    since.reverse()
    return since


class Lineage:
    """The commits of some states by id. A log is read as far back as the spilled commits that are looked up."""

    def __init__(self, store: Store, *states: ManifestState) -> None:
        self._known = {commit.id: commit for state in states for commit in state.commits}
        logs = {state.log.lance_version: state.log for state in states if state.log is not None}
        self._unread = [spilled(store, log) for log in logs.values()]

    def __call__(self, commit_id: str) -> GraphCommit:
        found = self.find(commit_id)
        if found is None:
            raise CorruptionError(f"commit {commit_id} is missing from the log of its branch", commit=commit_id)
        return found

    def find(self, commit_id: str) -> GraphCommit | None:
        """The commit, or None if no log has it."""
        while commit_id not in self._known and self._unread:
            commit = next(self._unread[-1], None)
            if commit is None:
                self._unread.pop()
            else:
                self._known[commit.id] = commit
        return self._known.get(commit_id)
