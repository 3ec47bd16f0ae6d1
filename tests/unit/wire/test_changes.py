"""Changes as JSON name the commit that caused them, with the field names of Omnigraph 0.10."""

import pytest

from omnigraph.core.commit import CommitKind, GraphCommit, ManifestPlace
from omnigraph.engine.history.commit_changes import ChangeBlock
from omnigraph.wire.changes import block_json


@pytest.mark.parametrize("parents", [(), ("p",), ("p", "m")])
def test_the_cause_names_both_parents_of_a_merge_and_none_of_the_first_commit(parents: tuple[str, ...]) -> None:
    commit = GraphCommit("c", parents, "main", CommitKind.MERGE, 5, ManifestPlace("i", 1, 1), "sha256:0")
    cause = block_json(ChangeBlock(commit, ()))["cause"]
    names = ("parent_commit_id", "merged_parent_commit_id")
    assert {name: cause[name] for name in names if name in cause} == dict(zip(names, parents, strict=False))
    assert "actor_id" not in cause, "a member without a value is left out"
    assert (cause["graph_commit_id"], cause["authored_branch"], cause["authored_at"]) == ("c", "main", 5)
