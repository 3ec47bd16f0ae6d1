"""Retention of commits: the decision of ``cleanup``, a pure function of commit logs, policy and time.

A commit expires in two steps:

1. *given up*: no reader may open it from then on; a later decision may still keep it.
2. *gone*, one grace period later: files that only it needs may be deleted.

Deleted branches expire in the same way: an incarnation without a name is recorded when it is first seen, and gone one
grace period later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.commit import GraphCommit

Span = tuple[int, int, int]
"""Range of commit counters of one incarnation (first, last), and the time they were given up in microseconds."""

GONE = 0
"""Time recorded for commits that are gone. The real one is no longer needed, and equal times join into few spans."""

Log = Sequence[GraphCommit]
"""The commits of a branch, newest first."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Retention rules for every branch: the newest commits, and those younger than an age. None disables a rule."""

    keep: int | None = None
    older_than_us: int | None = None

    @property
    def is_silent(self) -> bool:
        return self.keep is None and self.older_than_us is None


@dataclass(frozen=True)
class Record:
    """Accumulated decisions of all cleanups, by incarnation. ``nameless`` holds the time of first sight."""

    number: int = 0
    given_up: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    gone: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    nameless: Mapping[str, int] = field(default_factory=dict)

    def given_up_since(self, commit: GraphCommit) -> int | None:
        """Time when a commit was given up, or ``GONE``; None if it can be read."""
        for spans in (self.given_up, self.gone):
            found = _since(spans, commit)
            if found is not None:
                return found
        return None

    def is_gone(self, commit: GraphCommit) -> bool:
        """True if files of the commit may have been deleted."""
        return _since(self.gone, commit) is not None


def _since(spans: Mapping[str, tuple[Span, ...]], commit: GraphCommit) -> int | None:
    counter = commit.manifest.counter
    for first, last, since in spans.get(commit.manifest.incarnation, ()):
        if first <= counter <= last:
            return since
    return None


def decide(
    record: Record, logs: Sequence[Log], unnamed: Mapping[str, Log], policy: Policy, now_us: int, grace_us: int
) -> Record:
    """The next record, from the logs of all branches and of incarnations without a name.

    Without a policy no further commit is given up; commits given up before still expire.
    """
    given_up: dict[GraphCommit, int] = {}
    gone: set[GraphCommit] = set()
    # Heads and merge bases stay under any policy: branches must stay readable and mergeable.
    fixed = {log[0].id for log in logs if log} | merge_bases(logs)
    chosen = {commit.id for log in logs for commit in _chosen(log, policy, now_us)}
    named = {commit.id: commit for log in logs for commit in log}
    for commit in named.values():
        since = record.given_up_since(commit)
        if record.is_gone(commit):
            gone.add(commit)
        elif commit.id in fixed or (since is None if policy.is_silent else commit.id in chosen):
            continue
        elif (now_us if since is None else since) <= now_us - grace_us:
            gone.add(commit)
        else:
            given_up[commit] = now_us if since is None else since
    # Commits of an unnamed incarnation stay protected as a whole, except those that are gone already.
    for commit in (commit for log in unnamed.values() for commit in log):
        if commit.id not in named and record.is_gone(commit):
            gone.add(commit)
    nameless = {incarnation: record.nameless.get(incarnation, now_us) for incarnation in unnamed}
    return Record(record.number + 1, _spans(given_up), _spans(dict.fromkeys(gone, GONE)), nameless)


def _chosen(log: Log, policy: Policy, now_us: int) -> Iterable[GraphCommit]:
    """Commits that the policy keeps of a branch; one matching rule is enough."""
    yield from log[: policy.keep or 0]
    if policy.older_than_us is not None:
        yield from (commit for commit in log if commit.created_at_us > now_us - policy.older_than_us)


def _spans(commits: Mapping[GraphCommit, int]) -> dict[str, tuple[Span, ...]]:
    """Run-length encode commits: neighbours that were given up together become one span.

    ========  =======  =====
    counter   since    spans
    ========  =======  =====
    3         100      (3, 3, 100)
    4         100      (3, 4, 100)
    5         200      (3, 4, 100), (5, 5, 200)
    7         200      (3, 4, 100), (5, 5, 200), (7, 7, 200)
    8         200      (3, 4, 100), (5, 5, 200), (7, 8, 200)
    ========  =======  =====
    """
    by_incarnation: dict[str, list[Span]] = defaultdict(list)
    places = sorted((commit.manifest.incarnation, commit.manifest.counter, since) for commit, since in commits.items())
    for incarnation, counter, since in places:
        spans = by_incarnation[incarnation]
        if spans and spans[-1][1] + 1 == counter and spans[-1][2] == since:
            spans[-1] = (spans[-1][0], counter, since)
        else:
            spans.append((counter, counter, since))
    return {incarnation: tuple(spans) for incarnation, spans in by_incarnation.items()}


def merge_bases(logs: Sequence[Log]) -> set[str]:
    """Merge bases of any two of the branches: common to both, without a child that is common to both.

    A log holds every ancestor of its commits, so each branch that has a child also has its parent. Branches are bits
    of an integer, and ``held & (held - 1)`` is non-zero if at least two of them hold a commit.
    """
    holders: dict[str, int] = defaultdict(int)
    children: dict[str, set[str]] = defaultdict(set)
    for number, log in enumerate(logs):
        for commit in log:
            holders[commit.id] |= 1 << number
            for parent in commit.parents:
                children[parent].add(commit.id)
    return {
        commit
        for commit, held in holders.items()
        if held & (held - 1) and not _covers(held, [holders[child] for child in children.get(commit, ())])
    }


def _covers(held: int, below: Collection[int]) -> bool:
    """True if every two of the branches share one of the children."""
    if held in below:
        return True
    for number in range(held.bit_length()):
        own = 1 << number
        if held & own:
            shared = own
            for child in below:
                shared |= child if child & own else 0
            if shared != held:
                return False
    return True
