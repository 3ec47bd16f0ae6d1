"""Reverts: from the caller's selection of commits to one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.core.hints import commits_hint
from omnigraph.core.ids import is_ulid
from omnigraph.engine.history.commit_filters import passes
from omnigraph.engine.history.moments import Moments
from omnigraph.engine.idempotency import earlier_commit
from omnigraph.engine.merge.result import Policy
from omnigraph.engine.merge.run import Said, read_rules
from omnigraph.engine.revert.result import RevertPreview, RevertResult
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.history.commits import first_parents, relate
from omnigraph.history.moments import RANGE, split_range, time_us
from omnigraph.history.reverts import REVERTS, Stretch, between, reverted_by, stretches
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import Lineage, find_commit, newest_first
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.store import Store
from omnigraph.write.attempt import WriteJob, commit
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.merge.revert import Reverter, discard
from omnigraph.write.merge_guard import MergeGuard

NAMED_COMMITS_MAX = 1_000
"""Commits that a revert names in its provenance: the newest ones. A record of it is kept with every commit that
follows soon, so it must stay small."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The selection of commits to undo: a commit or a range, and filters."""

    what: str | None = None
    actor: str | None = None
    run: str | None = None
    since: str | datetime | None = None
    until: str | datetime | None = None

    @property
    def names_author(self) -> bool:
        """True if an actor or a run selects the commits, on whatever branch they were made."""
        return bool(self._filters())

    @property
    def is_filtered(self) -> bool:
        return any(said is not None for said in (self.actor, self.run, self.since, self.until))

    def __str__(self) -> str:
        said = [self.what, *(f"{name} {value}" for name, value in self._filters().items())]
        said += [f"{word} {value}" for word, value in (("since", self.since), ("until", self.until)) if value]
        return ", ".join(item for item in said if item)

    def _filters(self) -> dict[str, str]:
        return {name: value for name, value in (("actor", self.actor), ("run", self.run)) if value is not None}

    def fits(self, now_us: int) -> Callable[[GraphCommit], bool]:
        """True if a commit has the selected actor, run and time."""
        first = None if self.since is None else time_us(self.since, now_us) // 1000 * 1000
        last = None if self.until is None else time_us(self.until, now_us)
        filters = self._filters()

        def fits(commit: GraphCommit) -> bool:
            is_late = first is None or commit.created_at_us >= first
            return is_late and (last is None or commit.created_at_us <= last) and passes(commit, filters)

        return fits


def resolved(moments: Moments, undone: Undone, branch: str) -> Undone:
    """The selection with the ids of the commits that it names, as the message of the revert shows them."""

    def commit_id(said: str) -> str:
        return said if not said or is_ulid(said) else moments.commit(said, branch).id

    if undone.what is None:
        return undone
    ends = split_range(undone.what) or (undone.what,)
    return replace(undone, what=RANGE.join(map(commit_id, ends)))


def revert(
    context: WriteContext,
    undone: Undone,
    branch: str,
    policy: Policy,
    resolutions: Said,
    options: WriteOptions,
    guard: MergeGuard | None = None,
) -> RevertResult:
    """Undo commits as one commit. Which ones is decided once, on the head that the branch has now."""
    head = branches.find_head(context.manifests, branch)
    earlier = earlier_commit(context, head.incarnation, options)
    if earlier is not None:
        return RevertResult(head.branch, reverted_by(earlier), (), earlier.actor, earlier)
    undone = resolved(Moments.of(context), undone, head.branch)
    # Read again: `HEAD` may name a commit that is younger than the head that was searched for the earlier commit.
    head = branches.find_head(context.manifests, branch)
    found = select(context, head, undone)
    reverted = _ids(found)
    said = replace(
        options,
        message=options.message or f"revert {undone}",
        provenance={**options.provenance, REVERTS: ",".join(reverted[:NAMED_COMMITS_MAX])},
    )
    rules = read_rules(_catalogs(context, head, found, guard), policy, resolutions)
    info = said.info(context, CommitKind.REVERT)
    reverter = Reverter(context.manifests, found, rules, info, said, None if guard is None else guard.checked)
    decided, published = commit(context, WriteJob(head.incarnation, reverter.prepare, info, said))
    made = None if published is None else published.commit
    return RevertResult(head.branch, reverted, decided.counts, options.actor, made)


def preview(
    context: WriteContext,
    undone: Undone,
    branch: str,
    policy: Policy,
    resolutions: Said,
    guard: MergeGuard | None = None,
) -> RevertPreview:
    """The counts and conflicts of a revert. Nothing stays written."""
    # Names first: the head that is read after them holds every commit that they name.
    undone = resolved(Moments.of(context), undone, branch)
    head = branches.find_head(context.manifests, branch)
    found = select(context, head, undone)
    rules = read_rules(_catalogs(context, head, found, guard), policy, resolutions)
    options = WriteOptions()
    # The counts of several stretches are those of their result, which is not filtered: then all of it must be visible.
    decided_by = None if guard is None else guard.shown if len(found) == 1 else guard.checked
    reverter = Reverter(context.manifests, found, rules, options.info(context, CommitKind.REVERT), options, decided_by)
    decided = reverter.decide(context.manifests.capture(head))
    discard(context.store, decided)
    return RevertPreview(head.branch, head.head, _ids(found), decided.counts, decided.conflicts)


def _catalogs(
    context: WriteContext, head: ManifestState, found: list[Stretch], guard: MergeGuard | None
) -> list[Catalog]:
    """The schemas whose names conflicts can have: undoing may bring older ones back."""
    restricted = None if guard is None else guard.catalog(context.manifests, head, context.manifests.capture(head))
    if restricted is not None:
        return [restricted]
    lineage = Lineage(context.store, head)
    digests = [head.schema_digest, *(lineage(stretch.before).schema_digest for stretch in found)]
    return [context.manifests.catalog(digest) for digest in dict.fromkeys(digests)]


def _ids(found: list[Stretch]) -> tuple[str, ...]:
    return tuple(commit.id for stretch in found for commit in reversed(stretch.commits))


def select(context: WriteContext, head: ManifestState, undone: Undone) -> list[Stretch]:
    """The commits of a branch to undo, as stretches, newest first."""
    if undone.what is None and not undone.is_filtered:
        raise UsageError(
            "what is to be reverted?", hint="name a commit, a range such as 01A..01B, an actor, a run or a time"
        )
    store = context.store
    fits = undone.fits(context.clock.now_us())
    if undone.what is not None and RANGE not in undone.what:
        found = [_single(store, head, undone.what)]
        if not fits(found[0].last):
            found = []
    else:
        own = {commit.id for commit in _line(store, head)}
        wanted = own if undone.what is None else _range(store, head, undone.what)
        names_author = undone.what is None and undone.names_author

        def is_wanted(commit: GraphCommit) -> bool:
            """A merge within what another one brought moved the work of others: that is named by its own commits."""
            is_foreign = names_author and commit.id not in own and commit.kind is not CommitKind.MERGE
            return (commit.id in wanted or is_foreign) and fits(commit)

        found = stretches(newest_first(store, head), is_wanted, partial(_brought, Lineage(store, head)))
    if not found:
        raise NotFoundError(
            f"{head.branch} has no commit to revert: {undone}",
            hint=commits_hint(head.branch, "; those that were reverted already are left out"),
            branch=head.branch,
        )
    return found


def _line(store: Store, head: ManifestState) -> Iterator[GraphCommit]:
    return first_parents(newest_first(store, head), head.head)


def _brought(lineage: Lineage, commit: GraphCommit) -> Iterator[str]:
    """The commits that a merge brought to its branch."""
    for other in commit.parents[1:]:
        yield from (item.id for item in relate(other, commit.parents[0], lineage).only_source)


def _single(store: Store, head: ManifestState, commit_id: str) -> Stretch:
    """One commit of the history, also one that a merge brought along."""
    commit = find_commit(store, head, commit_id)
    if commit is None:
        raise NotFoundError(
            f"{head.branch} has no commit {commit_id!r}",
            hint=commits_hint(head.branch),
            commit=commit_id,
        )
    if not commit.parents:
        raise UsageError(f"{commit_id} is the first commit of the graph and cannot be reverted")
    return Stretch(commit.parents[0], (commit,))


def _range(store: Store, head: ManifestState, said: str) -> set[str]:
    after, until = (part.strip() or None for part in said.split(RANGE, 1))
    found = between(_line(store, head), after, until)
    if found is None:
        raise NotFoundError(
            f"{said!r} is no range of commits of {head.branch}",
            hint="write it as OLDER..NEWER, with two commits of the branch's own line",
            range=said,
        )
    return found
