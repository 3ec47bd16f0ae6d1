"""Walks over the commit graph, compared with the definitions on random graphs."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.commit import GraphCommit
from omnigraph.history.commits import Relation, first_parents, relate
from tests.unit.history.states import commit

Commits = dict[str, GraphCommit]


def graph(*edges: str) -> Commits:
    """Commits from texts such as ``m: a b``: name and parents, oldest first."""
    made: Commits = {}
    for number, edge in enumerate(edges):
        name, _, parents = edge.partition(":")
        made[name] = replace(commit(name, at=number), parents=tuple(parents.split()))
    return made


def related(commits: Commits, source: str, target: str) -> Relation:
    return relate(source, target, commits.__getitem__)


def ids(commits: tuple[GraphCommit, ...]) -> list[str]:
    return [item.id for item in commits]


def test_two_branches_meet_where_they_parted() -> None:
    found = related(graph("0", "1: 0", "a: 1", "b: 1", "a2: a"), "a2", "b")
    assert found.bases == ("1",)
    assert (ids(found.only_source), ids(found.only_target)) == (["a", "a2"], ["b"])


def test_a_head_that_is_an_ancestor_is_the_base() -> None:
    commits = graph("0", "a: 0", "b: a")
    assert related(commits, "b", "a").bases == ("a",)
    assert related(commits, "a", "b").only_source == ()
    assert related(commits, "a", "a").bases == ("a",)


def test_a_branch_of_a_branch_meets_main_where_its_parent_left_it() -> None:
    commits = graph("0", "a: 0", "a1: a", "m: 0", "m1: m")
    assert related(commits, "a1", "m1").bases == ("0",)


def test_after_a_merge_the_merged_head_is_the_base_in_both_directions() -> None:
    commits = graph("0", "a: 0", "m: 0", "x: m a", "a2: a", "m2: x")
    assert related(commits, "a2", "m2").bases == ("a",)
    assert related(commits, "m2", "a2").bases == ("a",)
    assert ids(related(commits, "a2", "m2").only_source) == ["a2"]


def test_crossed_merges_have_two_bases_and_the_youngest_is_chosen_in_both_directions() -> None:
    commits = graph("0", "a: 0", "b: 0", "x: a b", "y: b a")
    assert related(commits, "x", "y").bases == ("b", "a")
    assert related(commits, "y", "x").base == "b"


def test_a_near_base_is_found_without_the_old_history() -> None:
    commits = graph(*[f"{n}: {n - 1}" if n else "0" for n in range(1000)], "a: 999", "b: 999")
    asked: list[str] = []

    def lookup(id_: str) -> GraphCommit:
        asked.append(id_)
        return commits[id_]

    assert relate("a", "b", lookup).base == "999"
    assert set(asked) <= {"a", "b", "999", "998"}


def test_the_first_parents_are_what_a_branch_went_through() -> None:
    commits = graph("0", "m: 0", "a: 0", "a2: a", "x: m a2", "m2: x")
    log = [commits[id_] for id_ in ("m2", "x", "a2", "a", "m", "0")]
    assert [item.id for item in first_parents(log, "m2")] == ["m2", "x", "m", "0"]


@st.composite
def graphs(draw: st.DrawFn) -> Commits:
    edges = ["0"]
    for number in range(1, draw(st.integers(1, 12))):
        parents = draw(st.lists(st.integers(0, number - 1), min_size=1, max_size=2, unique=True))
        edges.append(f"{number}: {' '.join(map(str, parents))}")
    return graph(*edges)


def ancestors(commits: Commits, id_: str) -> set[str]:
    found = {id_}
    for parent in commits[id_].parents:
        found |= ancestors(commits, parent)
    return found


@given(graphs(), st.data())
def test_any_two_commits_are_related_as_the_definition_says(commits: Commits, data: st.DataObject) -> None:
    source, target = (data.draw(st.sampled_from(sorted(commits))) for _ in range(2))
    mine, theirs = ancestors(commits, source), ancestors(commits, target)
    common = mine & theirs
    best = {id_ for id_ in common if not any(id_ in ancestors(commits, other) - {other} for other in common)}
    found = related(commits, source, target)
    assert set(found.bases) == best
    assert found.bases == related(commits, target, source).bases
    assert set(ids(found.only_source)) == mine - theirs
    assert set(ids(found.only_target)) == theirs - mine
    for only in (ids(found.only_source), ids(found.only_target)):
        places = {id_: number for number, id_ in enumerate(only)}
        assert all(places.get(parent, -1) < places[id_] for id_ in only for parent in commits[id_].parents)
