"""Which commits stay readable: what ``cleanup`` decides, from logs, a policy and the time alone.

A commit goes in two steps. First it is *given up*: nobody may begin to read it any more. When it has been given up for
the grace period it is *gone*, and what only it needed may be deleted. Until then a later decision may take it back.
Deleted branches go the same way: an incarnation without a name is noted when it is first seen, and gone a grace period
after that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from omnigraph.core.commit import GraphCommit

Span = tuple[int, int, int]
"""Counters of commits of one incarnation, first and last, and since when they are given up (microseconds)."""

GONE = 0
"""Since when a commit is gone: nobody asks any more, and spans stay few."""

Log = Sequence[GraphCommit]
"""The commits of a branch, newest first."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What shall stay of every branch: the newest commits, and those younger than an age. None says nothing."""

    keep: int | None = None
    older_than_us: int | None = None

    @property
    def is_silent(self) -> bool:
        return self.keep is None and self.older_than_us is None


@dataclass(frozen=True)
class Record:
    """Everything that cleanups have decided so far. Spans are by incarnation; ``nameless`` says since when."""

    number: int = 0
    given_up: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    gone: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    nameless: Mapping[str, int] = field(default_factory=dict)

    def given_up_since(self, commit: GraphCommit) -> int | None:
        """Since when a commit is given up, or that it is gone; None if it can be read."""
        for spans in (self.given_up, self.gone):
            found = _since(spans, commit)
            if found is not None:
                return found
        return None

    def is_gone(self, commit: GraphCommit) -> bool:
        """Whether files of the commit may have been deleted."""
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
    """The next record, from the logs of all branches and those of incarnations without a name.

    Without a policy nothing more is given up; what was given up before goes on its way.
    """
    given_up: dict[GraphCommit, int] = {}
    gone: set[GraphCommit] = set()
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
    # What an unnamed incarnation still shows is protected as a whole, except for what is gone already.
    for commit in (commit for log in unnamed.values() for commit in log):
        if commit.id not in named and record.is_gone(commit):
            gone.add(commit)
    nameless = {incarnation: record.nameless.get(incarnation, now_us) for incarnation in unnamed}
    return Record(record.number + 1, _spans(given_up), _spans(dict.fromkeys(gone, GONE)), nameless)


def _chosen(log: Log, policy: Policy, now_us: int) -> Iterable[GraphCommit]:
    """What the policy wants of a branch: it is enough that one of its rules does."""
    yield from log[: policy.keep or 0]
    if policy.older_than_us is not None:
        yield from (commit for commit in log if commit.created_at_us > now_us - policy.older_than_us)


def _spans(commits: Mapping[GraphCommit, int]) -> dict[str, tuple[Span, ...]]:
    """Commits that follow each other and were given up together become one span."""
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
    """Commits that a merge of any two of the branches would start from: common to both, without a common child.

    A log holds every ancestor of its commits. So the branches that have a child also have its parent, and a commit is
    a base of two branches if no child of it is in both.
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
    """Whether every two of the branches share one of the children."""
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
