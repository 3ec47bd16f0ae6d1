"""Selection of the commits that a revert undoes, and the description of the result."""

from dataclasses import replace

from omnigraph.core.commit import CommitKind, GraphCommit, TableChange
from omnigraph.history.reverts import REVERTS, between, reverted_by, stretches, undoing
from tests.unit.history.states import DETACHED, commit, pin, state


def line(*kinds: str) -> list[GraphCommit]:
    """Commits 0, 1, 2 ... of these kinds on one line, newest first; ``revert 2,1`` says what it undid."""
    made = []
    for number, said in enumerate(kinds):
        kind, _, undone = said.partition(" ")
        parents = (str(number - 1),) if number else ()
        provenance = {REVERTS: undone} if undone else {}
        made.append(
            replace(commit(str(number), kind=CommitKind(kind), at=number), parents=parents, provenance=provenance)
        )
    return made[::-1]


def found(commits: list[GraphCommit], *wanted: int) -> list[tuple[str, str]]:
    """Stretches as (the commit before, the ids of the commits)."""
    numbers = {str(number) for number in wanted}
    return [
        (stretch.before, "".join(item.id for item in stretch.commits))
        for stretch in stretches(commits, lambda item: item.id in numbers)
    ]


def test_commits_that_follow_each_other_are_one_stretch_and_maintenance_does_not_part_them() -> None:
    commits = line("init", "load", "mutation", "maintenance", "mutation", "mutation", "mutation")
    assert found(commits, 1, 2, 4, 6) == [("5", "6"), ("0", "124")]
    assert found(commits, 0, 3) == []
    assert found(commits, *range(7)) == [("0", "12456")]


def test_what_was_reverted_already_is_left_out() -> None:
    commits = line("init", "load", "mutation", "revert 2", "mutation")
    assert found(commits, 1, 2, 4) == [("3", "4"), ("0", "1")]
    assert found(commits, 1, 2, 3, 4) == [("0", "1234")]
    again = line("init", "load", "mutation", "revert 2", "revert 3", "mutation")
    assert found(again, 1, 2) == [("0", "12")]


def test_lines_beside_each_other_are_undone_in_the_order_of_time() -> None:
    one, *_ = line("init", "load")
    commits = [replace(item, id=f"{item.id}{side}") for item in line("init", "load", "mutation")[:2] for side in "ab"]
    linked = [replace(item, parents=(f"1{item.id[1]}" if item.id[0] == "2" else one.id,)) for item in commits]
    assert [item.id for item in linked] == ["2a", "2b", "1a", "1b"]
    everything = stretches([*linked, one], lambda item: True)
    assert [[item.id for item in stretch.commits] for stretch in everything] == [["2a"], ["2b"], ["1a"], ["1", "1b"]]
    of_one_line = stretches([*linked, one], lambda item: "a" in item.id)
    assert [[item.id for item in stretch.commits] for stretch in of_one_line] == [["1a", "2a"]]


def test_what_a_merge_brought_goes_with_it() -> None:
    merge = replace(commit("3", kind=CommitKind.MERGE, at=9), parents=("1", "2"))
    commits = [merge, replace(commit("2", at=8), parents=("1",)), *line("init", "load")]
    undo = replace(commit("4", kind=CommitKind.REVERT, at=10), parents=("3",), provenance={REVERTS: "3"})

    def brought(item: GraphCommit) -> list[str]:
        return ["2"] if item is merge else []

    def ids(history: list[GraphCommit], *wanted: str) -> list[str]:
        found = stretches(history, lambda item: item.id in wanted, brought)
        return [item.id for stretch in found for item in stretch.commits]

    assert ids(commits, "2") == ["2"]
    assert ids(commits, "2", "3") == ["3"]
    assert ids([undo, *commits], "2", "3") == []


def test_a_revert_names_what_it_undid() -> None:
    assert reverted_by(line("init", "load", "revert 1,0")[0]) == ("1", "0")
    assert reverted_by(line("init")[0]) == ()


def test_a_range_begins_after_the_older_commit() -> None:
    commits = line("init", "load", "mutation", "mutation")
    assert between(commits, "1", "2") == {"2"}
    assert between(commits, "1", None) == {"2", "3"}
    assert between(commits, None, "1") == {"0", "1"}
    assert between(commits, "2", "2") == set()
    assert between(commits, "2", "1") is None
    assert between(commits, "x", "1") is None
    assert between(commits, "1", "x") is None


def test_undoing_turns_counts_and_versions_round() -> None:
    before = state("node:A", "node:B")
    after = replace(before, tables={**before.tables, "node:A": pin("node:A", 2, 5), "node:C": pin("node:C")})
    changes = (
        TableChange("node:A", "tables/node-A", (DETACHED + 1, 1, 0), (DETACHED + 2, 2, 5), inserted=4, deleted=1),
        TableChange("node:C", "tables/node-C", None, (DETACHED + 1, 1, 0), inserted=2, updated=3),
    )
    (stretch,) = stretches([replace(commit("1", *changes), parents=("0",))], lambda _: True)
    undo = undoing(stretch, before, after, 77)
    assert [(item.key, item.before, item.after, item.inserted, item.updated, item.deleted) for item in undo.tables] == [
        ("node:A", (DETACHED + 2, 2, 5), (DETACHED + 1, 1, 0), 1, 0, 4),
        ("node:C", (DETACHED + 1, 1, 0), None, 0, 3, 2),
    ]
    assert (undo.kind, undo.created_at_us) == (CommitKind.REVERT, 77)
