"""A state and a commit are what their stored forms say, whatever they hold."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.commit import GraphCommit, commit_from_json, commit_to_json
from omnigraph.errors import CorruptionError
from omnigraph.history.state import Fence, ManifestRow, ManifestState, fork, from_rows, sealed, to_rows
from omnigraph.manifest.layout import rows_from_arrow, rows_to_arrow
from tests.unit.history.states import commits, state, states


@given(commits)
def test_a_commit_survives_its_stored_form(commit: GraphCommit) -> None:
    assert commit_from_json(json.loads(json.dumps(commit_to_json(commit)))) == commit


@given(states())
def test_a_state_survives_its_rows(given_state: ManifestState) -> None:
    assert from_rows(to_rows(given_state), given_state.version) == given_state


@given(states())
def test_rows_survive_arrow(given_state: ManifestState) -> None:
    assert rows_from_arrow(rows_to_arrow(to_rows(given_state))) == to_rows(given_state)


def test_the_ids_of_rows_are_unique() -> None:
    rows = to_rows(state("node:A", "edge:A"))
    assert len({row.object_id for row in rows}) == len(rows)


def test_rows_of_unknown_kinds_are_left_alone() -> None:
    known = state("node:A")
    assert from_rows(sealed([*to_rows(known), ManifestRow("x", "from the future")]), 1) == known


@given(states(), st.data())
def test_a_changed_row_is_never_read_as_a_state(given_state: ManifestState, data: st.DataObject) -> None:
    rows = to_rows(given_state)
    place = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.sampled_from(["object_id", "object_type", "location", "table_version", "lance_version"]))
    changed = rows[place]._replace(**{column: "damaged" if column in ("object_id", "object_type", "location") else 7})
    with pytest.raises(CorruptionError):
        from_rows([*rows[:place], changed, *rows[place + 1 :]], given_state.version)


def test_rows_without_a_digest_are_those_of_an_earlier_release() -> None:
    known = state("node:A")
    rows = [
        row._replace(
            metadata=json.dumps({key: value for key, value in json.loads(row.metadata).items() if key != "digest"})
        )
        if row.object_type == "graph_head" and row.metadata
        else row
        for row in to_rows(known)
    ]
    assert from_rows(rows, 1) == known


def test_a_fork_has_everything_of_its_parent_and_a_place_of_its_own() -> None:
    parent = state("node:A", version=7)
    child = fork(parent, "review", "other", Fence(3))
    assert (child.branch, child.incarnation, child.version) == ("review", "other", 0)
    assert (child.fence, child.unconfirmed, child.renaming) == (Fence(3), 3, None)
    assert (child.tables, child.commits, child.head, child.counter, child.schema_digest) == (
        parent.tables,
        parent.commits,
        parent.head,
        parent.counter,
        parent.schema_digest,
    )


def test_the_schema_row_names_the_file_of_the_schema() -> None:
    [row] = [row for row in to_rows(state(schema="sha256:abc")) if row.object_type == "schema"]
    assert row.location == "schemas/abc.json"
