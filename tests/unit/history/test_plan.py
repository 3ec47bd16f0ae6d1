"""Applying a plan to a state, and undoing one of several that share a manifest version."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.commit import GraphCommit, ManifestPlace, TableChange
from omnigraph.core.tables import FileRecord
from omnigraph.history.plan import PublishPlan, TableWrite, WriteMode, apply_plan
from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import _before
from tests.unit.history.states import DETACHED, commit, pin, plan, state, write


def test_a_written_table_moves_and_counts_and_the_others_stay() -> None:
    base = state("node:A", "node:B")
    after = apply_plan(base, plan(base, write("node:A", rows=5)), version=2)
    assert after.tables["node:A"].table_version == 2
    assert after.tables["node:A"].lance_version == DETACHED + 9
    assert after.tables["node:A"].rows == 5
    assert after.tables["node:B"] == base.tables["node:B"]
    assert (after.version, after.counter, after.head) == (2, base.counter + 1, "new")


def test_the_commit_says_what_it_did_by_whom_and_where() -> None:
    base = state("node:A")
    files = (FileRecord("x", 1, "y"),)
    after = apply_plan(base, plan(base, write("node:A"), files=files), version=2)
    made = after.commits[-1]
    assert made.parents == (base.head,)
    assert (made.actor, made.message, made.idempotency_key, made.provenance) == (
        "ann",
        "why",
        "key-1",
        {"tool": "test"},
    )
    assert (made.manifest.incarnation, made.manifest.version, made.manifest.counter) == ("inc", 2, after.counter)
    [change] = made.tables
    assert change.before == (DETACHED + 1, 1, 0)
    assert change.after == (DETACHED + 9, 2, 5)
    assert made.files == files


def test_a_plan_lands_on_a_newer_state_without_losing_its_pins() -> None:
    base = state("node:A", "node:B")
    newer = apply_plan(base, plan(base, write("node:B"), id_="first"), version=2)
    after = apply_plan(newer, plan(base, write("node:A"), id_="second"), version=3)
    assert after.tables["node:B"] == newer.tables["node:B"]
    assert after.commits[-1].parents == ("first",)


def test_time_on_a_branch_only_goes_forward() -> None:
    base = replace(state("node:A"), commits=(commit("c1", at=9_000),))
    after = apply_plan(base, plan(base, write("node:A")), version=2)
    assert after.commits[-1].created_at_us == 9_001


def test_a_dropped_table_leaves_and_a_new_one_starts_counting() -> None:
    base = state("node:A")
    drop = TableWrite("node:A", base.tables["node:A"].location, WriteMode.DROP, None, 0, deleted=3)
    made = TableWrite("node:B", "tables/other", WriteMode.CREATE, DETACHED + 5, 0)
    after = apply_plan(base, plan(base, drop, made, new_schema="sha256:b"), version=2)
    assert set(after.tables) == {"node:B"}
    assert after.tables["node:B"].table_version == 1
    assert after.schema_digest == after.commits[-1].schema_digest == "sha256:b"


def test_a_table_at_another_place_starts_counting_again() -> None:
    base = replace(state("node:A"), tables={"node:A": pin("node:A", 7, location="tables/old")})
    after = apply_plan(base, plan(base, write("node:A")), version=2)
    assert after.tables["node:A"].table_version == 1


KEYS = ["node:A", "node:B", "edge:C"]
groups = st.lists(st.lists(st.sampled_from(KEYS), unique=True, max_size=3), min_size=1, max_size=6)


@given(groups)
def test_every_commit_of_a_group_can_be_gone_back_to(group: list[list[str]]) -> None:
    current = state(*KEYS)
    seen: list[ManifestState] = []
    for number, keys in enumerate(group):
        writes = [write(key, version=10 * number + place + 2) for place, key in enumerate(keys)]
        current = apply_plan(current, plan(current, *writes, id_=f"n{number}"), version=2)
        seen.append(current)
    for wanted in seen:
        assert _before(current, wanted.commits[-1]) == wanted


@given(groups)
def test_a_table_that_a_later_commit_of_the_group_made_is_not_there_yet(group: list[list[str]]) -> None:
    base = state()
    first = apply_plan(base, plan(base, id_="first"), version=2)
    last = first
    for number, keys in enumerate(group):
        last = apply_plan(last, plan(last, *(write(key) for key in keys), id_=f"n{number}"), version=2)
    assert _before(last, first.commits[-1]) == first


def foreign(id_: str, at: int) -> GraphCommit:
    made = commit(id_, TableChange("node:A", "elsewhere", (1, 1, 1), (2, 2, 2)), at=at)
    return replace(made, manifest=ManifestPlace("other", 2, 2))


def merge_of(base: ManifestState, *brought: GraphCommit, id_: str) -> PublishPlan:
    made = plan(base, write("node:A", WriteMode.MERGE), id_=id_, merged=brought)
    return replace(made, info=replace(made.info, merged_parents=(brought[-1].id,)))


def test_a_merge_has_two_parents_brings_the_others_commits_and_is_younger_than_both() -> None:
    base = state("node:A")
    after = apply_plan(base, merge_of(base, foreign("x", 5_000), foreign("y", 6_000), id_="m"), version=2)
    assert [made.id for made in after.commits] == ["c1", "x", "y", "m"]
    assert after.commits[-1].parents == ("c1", "y")
    assert after.commits[-1].created_at_us == 6_001


def test_going_back_before_a_merge_of_the_same_group_undoes_the_merge_and_not_what_it_brought() -> None:
    base = state("node:A", "node:B")
    first = apply_plan(base, plan(base, write("node:B"), id_="first"), version=2)
    merged = apply_plan(first, merge_of(first, foreign("x", 5_000), id_="m"), version=2)
    last = apply_plan(merged, plan(merged, write("node:A", version=33), id_="last"), version=2)
    for wanted in (first, merged, last):
        assert _before(last, wanted.commits[-1]) == wanted
