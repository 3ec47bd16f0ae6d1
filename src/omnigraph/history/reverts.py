"""Commits that a revert undoes, grouped into stretches, and the synthetic commit that undoes a stretch.

Consecutive commits form one stretch, which is undone by one three-way merge: the state before the first is the source,
the state after the last the base. Maintenance commits change no entity, so they do not split a stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from omnigraph.core.commit import CommitKind, GraphCommit, TableChange
from omnigraph.core.tables import TablePin
from omnigraph.history.state import ManifestState

REVERTS = "reverts"
"""Provenance key under which a revert lists the commits it undid, newest first."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive commits that are undone together, oldest first, and the commit before them."""

    before: str
    commits: tuple[GraphCommit, ...]

    @property
    def last(self) -> GraphCommit:
        return self.commits[-1]


def stretches(
    newest_first: Iterable[GraphCommit],
    is_wanted: Callable[[GraphCommit], bool],
    brought: Callable[[GraphCommit], Iterable[str]] = lambda _: (),
) -> list[Stretch]:
    """The wanted commits as stretches, newest first. The first commit of a graph cannot be undone.

    Two kinds of commits are left out because they are already undone:

    * commits that a later revert undid, unless that revert is itself undone or wanted;
    * commits that a merge brought (named by ``brought``), if that merge is undone or wanted.
    """
    found: list[Stretch] = []
    current: list[GraphCommit] = []
    before: str | None = None  # id of the commit that extends the current stretch, if it is wanted
    undone: set[str] = set()
    for commit in newest_first:
        if not commit.kind.is_logical:
            before = commit.parents[0] if commit.id == before else before
            continue
        is_undone = commit.id in undone
        is_chosen = bool(commit.parents) and not is_undone and is_wanted(commit)
        if is_chosen or is_undone:
            undone.update(brought(commit))
        elif commit.kind is CommitKind.REVERT:
            undone.update(reverted_by(commit))
        if current and is_chosen != (commit.id == before):
            found.append(_stretch(current))
            current = []
        if is_chosen:
            current.append(commit)
            before = commit.parents[0]
    if current:
        found.append(_stretch(current))
    return found


def reverted_by(commit: GraphCommit) -> tuple[str, ...]:
    """The commits that a revert lists as undone."""
    named = commit.provenance.get(REVERTS)
    return tuple(named.split(",")) if named else ()


def _stretch(newest_first: Sequence[GraphCommit]) -> Stretch:
    return Stretch(newest_first[-1].parents[0], tuple(reversed(newest_first)))


def undoing(stretch: Stretch, source: ManifestState, base: ManifestState, moment_us: int) -> GraphCommit:
    """A synthetic commit from the state after a stretch back to the state before it. It is never published."""
    changes = [change for commit in stretch.commits for change in commit.tables]
    tables = []
    for key in sorted(source.tables.keys() | base.tables.keys()):
        after, before = source.tables.get(key), base.tables.get(key)
        if after == before:
            continue
        own = [change for change in changes if change.key == key]
        known = after or before
        assert known is not None
        tables.append(
            TableChange(
                key,
                known.location,
                _version(before),
                _version(after),
                inserted=sum(change.deleted for change in own),
                updated=sum(change.updated for change in own),
                deleted=sum(change.inserted for change in own),
            )
        )
    return GraphCommit(
        id=f"undo:{stretch.last.id}",
        parents=(stretch.last.id,),
        branch=base.branch,
        kind=CommitKind.REVERT,
        created_at_us=moment_us,
        manifest=stretch.last.manifest,
        schema_digest=source.schema_digest,
        tables=tuple(tables),
    )


def _version(pin: TablePin | None) -> tuple[int, int, int] | None:
    return None if pin is None else (pin.lance_version, pin.table_version, pin.rows)


def between(newest_first: Iterable[GraphCommit], after: str | None, until: str | None) -> set[str] | None:
    """Ids of the commits of a line after ``after``, up to and including ``until``; None if one is not on the line."""
    chosen: set[str] = set()
    is_within = until is None
    for commit in newest_first:
        is_within = is_within or commit.id == until
        if commit.id == after:
            return chosen if is_within else None
        if is_within:
            chosen.add(commit.id)
    return chosen if after is None and is_within else None
