"""Retention of commits: every rule alone, and merge bases against their definition."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.commit import CommitKind, GraphCommit, ManifestPlace
from omnigraph.history.retention import Log, Policy, Record, decide, merge_bases

NOW, GRACE = 1_000_000, 100


def commit(counter: int, *parents: str, incarnation: str = "main", at: int | None = None) -> GraphCommit:
    place = ManifestPlace(incarnation, counter, counter)
    made = counter if at is None else at
    return GraphCommit(f"{incarnation}{counter}", parents, incarnation, CommitKind.MUTATION, made, place, "sha256:0")


def chain(length: int) -> list[GraphCommit]:
    """Commits main1 to main<length>, newest first."""
    made = [commit(1)]
    for counter in range(2, length + 1):
        made.append(commit(counter, made[-1].id))
    return made[::-1]


def readable(record: Record, log: Log) -> list[int]:
    return [item.manifest.counter for item in log if record.given_up_since(item) is None]


def decided(
    logs: list[Log], policy: Policy, record: Record | None = None, now: int = NOW, unnamed: dict[str, Log] | None = None
) -> Record:
    return decide(record or Record(), logs, unnamed or {}, policy, now, GRACE)


def test_the_newest_commits_stay() -> None:
    log = chain(10)
    assert readable(decided([log], Policy(keep=3)), log) == [10, 9, 8]
    assert readable(decided([log], Policy(keep=50)), log) == list(range(10, 0, -1))


def test_commits_younger_than_an_age_stay_and_the_head_always() -> None:
    log = [commit(3, "main2", at=NOW - 5), commit(2, "main1", at=NOW - 10), commit(1, at=NOW - 20)]
    assert readable(decided([log], Policy(older_than_us=11)), log) == [3, 2]
    assert readable(decided([log], Policy(older_than_us=10)), log) == [3]
    assert readable(decided([log], Policy(older_than_us=0)), log) == [3]


def test_one_of_two_rules_is_enough_to_stay() -> None:
    log = [commit(3, "main2", at=NOW - 5), commit(2, "main1", at=NOW - 10), commit(1, at=NOW - 20)]
    assert readable(decided([log], Policy(keep=2, older_than_us=1)), log) == [3, 2]
    assert readable(decided([log], Policy(keep=1, older_than_us=15)), log) == [3, 2]


def test_without_a_policy_nothing_more_is_given_up_and_what_was_goes_on() -> None:
    log = chain(5)
    assert readable(decided([log], Policy()), log) == [5, 4, 3, 2, 1]
    first = decided([log], Policy(keep=2))
    log = [commit(6, "main5"), *log]
    later = decided([log], Policy(), first, NOW + GRACE)
    assert readable(later, log) == [6, 5, 4]
    assert [item.manifest.counter for item in log if later.is_gone(item)] == [3, 2, 1]


def test_a_commit_is_gone_after_the_grace_period_and_not_before() -> None:
    log = chain(4)
    first = decided([log], Policy(keep=1))
    assert not any(first.is_gone(item) for item in log)
    almost = decided([log], Policy(keep=1), first, NOW + GRACE - 1)
    assert not any(almost.is_gone(item) for item in log)
    assert [almost.given_up_since(item) for item in log] == [None, NOW, NOW, NOW]
    last = decided([log], Policy(keep=1), almost, NOW + GRACE)
    assert [last.is_gone(item) for item in log] == [False, True, True, True]


def test_what_is_given_up_can_be_taken_back_and_what_is_gone_cannot() -> None:
    log = chain(4)
    first = decided([log], Policy(keep=1))
    assert readable(decided([log], Policy(keep=3), first), log) == [4, 3, 2]
    gone = decided([log], Policy(keep=1), first, NOW + GRACE)
    assert readable(decided([log], Policy(keep=3), gone, NOW + GRACE), log) == [4]


def test_a_fork_point_stays_as_long_as_both_branches_are_there() -> None:
    main = chain(6)
    fork = [commit(3, "main2", incarnation="fork"), main[-2], main[-1]]
    record = decided([main, fork], Policy(keep=1))
    assert readable(record, main) == [6, 2]
    assert readable(record, fork) == [3, 2]
    assert readable(decided([main], Policy(keep=1), record), main) == [6]


def test_a_branch_without_a_name_is_remembered_since_it_was_first_seen() -> None:
    main = chain(3)
    fork = [commit(4, "main3", incarnation="fork"), *main]
    first = decided([main], Policy(), unnamed={"fork": fork})
    assert first.nameless == {"fork": NOW}
    later = decided([main], Policy(), first, NOW + 7, unnamed={"fork": fork, "other": ()})
    assert later.nameless == {"fork": NOW, "other": NOW + 7}
    assert decided([main], Policy(), later, unnamed={}).nameless == {}


def test_commits_that_follow_each_other_take_one_span() -> None:
    log = chain(1000)
    assert decided([log], Policy(keep=10)).given_up == {"main": ((1, 990, NOW),)}
    fork = [commit(501, "main500", incarnation="fork"), *log[500:]]
    record = decided([log, fork], Policy(keep=10))
    assert record.given_up == {"main": ((1, 491, NOW), (501, 990, NOW))}


@st.composite
def histories(draw: st.DrawFn) -> list[Log]:
    """Branches over a random commit graph: forks, merges, criss-cross merges."""
    ancestors: dict[str, set[str]] = {"main1": {"main1"}}
    commits = {"main1": commit(1)}
    heads = ["main1"]
    for counter in range(2, draw(st.integers(2, 12))):
        number = draw(st.integers(0, len(heads) - 1))
        parents = list(dict.fromkeys([heads[number], *draw(st.lists(st.sampled_from(heads), max_size=1))]))
        made = commit(counter, *parents)
        commits[made.id] = made
        ancestors[made.id] = {made.id}.union(*(ancestors[parent] for parent in parents))
        if draw(st.booleans()) and len(heads) < 4:
            heads.append(made.id)
        else:
            heads[number] = made.id
    order = sorted(commits.values(), key=lambda item: -item.manifest.counter)
    return [[item for item in order if item.id in ancestors[head]] for head in heads]


@given(histories())
def test_merge_bases_are_the_best_common_ancestors_of_every_two_branches(logs: list[Log]) -> None:
    by_id = {item.id: item for log in logs for item in log}

    def above(id_: str) -> set[str]:
        return {id_}.union(*(above(parent) for parent in by_id[id_].parents))

    expected = set()
    for one, other in combinations(logs, 2):
        common = {item.id for item in one} & {item.id for item in other}
        expected |= {id_ for id_ in common if not any(id_ in above(rival) - {rival} for rival in common)}
    assert merge_bases(logs) == expected
