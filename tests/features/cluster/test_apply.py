"""Planning and applying: the plan shown is the plan run, a second run does nothing, failures stay where they are."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import omnigraph
from omnigraph.cluster.control.apply import approve
from omnigraph.cluster.control.ledger import read_ledger, write_next
from omnigraph.cluster.control.observe import import_cluster
from omnigraph.cluster.diagnostics import Refused
from omnigraph.cluster.plan.decisions import Disposition, Outcome, Risk
from omnigraph.cluster.serving import read_snapshot
from omnigraph.storage.tables.store import Store
from tests.features.cluster.declared import (
    CITIES,
    CONFIG,
    POLICY,
    SCHEMA,
    SERVER_POLICY,
    STRICT,
    WIDER,
    Declared,
    codes,
)
from tests.support.faults.s3 import Bucket, Server

EMPTY = "version: 1\n"


def test_what_is_declared_is_created_once_and_can_be_served(cluster: Declared) -> None:
    assert cluster.changes() == dict.fromkeys(["graph.kb", "policy.team", "query.kb.everyone", "schema.kb"], "create")
    cluster.applied()
    assert cluster.plan().converged
    graph = cluster.graph()
    assert graph.schema_text() == SCHEMA
    assert [commit.actor for commit in graph.commits()] == ["ann"]
    snapshot = read_snapshot(cluster.root)
    assert [(item.id, list(item.queries), item.policy and item.policy.text) for item in snapshot.graphs] == [
        ("kb", ["everyone"], POLICY)
    ]


def test_a_second_run_writes_nothing(cluster: Declared) -> None:
    cluster.applied()
    before = cluster.file("state.json").read_bytes()
    again = cluster.apply()
    assert (again.converged, again.state_written, again.outcomes) == (True, False, {})
    assert cluster.file("state.json").read_bytes() == before
    assert not cluster.file("lock.json").exists()


def test_a_schema_is_migrated_with_its_queries_as_one_plan(cluster: Declared) -> None:
    cluster.applied()
    cluster.write("kb.pg", WIDER)
    cluster.write("queries/cities.gq", CITIES)
    found = cluster.plan()
    assert found.plan is not None
    migration = found.plan.find("schema.kb")
    assert migration is not None
    assert migration.migration is not None
    assert [item.render() for item in [migration.migration]] == ["- add property city: String? to node Person"]
    assert (migration.risk, migration.blast_radius) == (
        Risk.SAFE,
        ("graph.kb", "policy.team", "query.kb.cities", "query.kb.everyone"),
    )
    derived = found.plan.find("graph.kb")
    assert derived is not None
    assert derived.decision.disposition is Disposition.DERIVED
    cluster.applied()
    newest = next(iter(cluster.graph().commits()))
    assert (newest.actor, newest.message) == ("ann", "apply schema.kb")
    assert cluster.plan().converged


def test_a_reviewed_plan_is_applied_or_nothing_is(cluster: Declared) -> None:
    plan = cluster.plan().plan
    assert plan is not None
    cluster.write("queries/everyone.gq", "query everyone() { match { $p: Person } return { $p.age } }")
    refused = cluster.apply(plan.digest)
    assert (codes(refused), refused.ok) == (["plan_changed"], False)
    with pytest.raises(omnigraph.errors.NotAGraphError):
        cluster.graph()
    plan = cluster.plan().plan
    assert plan is not None
    assert cluster.apply(plan.digest).converged


def test_the_plan_of_another_graph_state_is_another_plan(cluster: Declared) -> None:
    cluster.applied()
    cluster.write("kb.pg", WIDER)
    plan = cluster.plan().plan
    assert plan is not None
    cluster.graph().apply_schema(WIDER)
    assert codes(cluster.apply(plan.digest)) == ["plan_changed"]
    assert codes(cluster.apply()) == ["cluster_recovery_unattributed"]
    assert cluster.plan().converged


def test_a_text_that_means_the_same_schema_makes_no_commit(cluster: Declared) -> None:
    cluster.applied()
    cluster.write("kb.pg", f"// people\n{SCHEMA}")
    cluster.applied()
    assert len(list(cluster.graph().commits())) == 1
    cluster.write("kb.pg", WIDER)
    cluster.applied()
    assert cluster.plan().converged


def test_data_that_violates_a_schema_keeps_its_queries_waiting_and_nothing_else(cluster: Declared) -> None:
    cluster.applied()
    cluster.graph().mutate('query q() { insert Person {name: "x"} }')
    cluster.write("kb.pg", STRICT)
    cluster.write("queries/older.gq", "query older() { match { $p: Person } return { $p.age } }")
    cluster.write("team.yaml", POLICY + "# changed\n")
    found = cluster.apply()
    assert (codes(found), found.ok, found.converged) == (
        ["apply_dependency_blocked", "schema_apply_failed"],
        False,
        False,
    )
    assert found.outcomes == {
        "graph.kb": Outcome.DONE,
        "policy.team": Outcome.DONE,
        "query.kb.older": Outcome.SKIPPED,
        "schema.kb": Outcome.FAILED,
    }
    statuses = json.loads(cluster.file("state.json").read_text())["resource_statuses"]
    assert {name: item["status"] for name, item in statuses.items()} == {
        "graph.kb": "applied",
        "policy.team": "applied",
        "query.kb.everyone": "applied",
        "query.kb.older": "blocked",
        "schema.kb": "error",
    }
    assert cluster.changes() == {"graph.kb": "update", "query.kb.older": "create", "schema.kb": "update"}
    cluster.graph().mutate('query q() { delete Person where name = "x" }')
    cluster.applied()
    assert cluster.plan().converged


def test_a_schema_change_that_cannot_be_planned_is_blocked(cluster: Declared) -> None:
    cluster.applied()
    cluster.write("kb.pg", SCHEMA.replace("name: String @key", "name: Bool @key"))
    found = cluster.apply()
    assert (found.ok, found.converged) == (True, False)
    assert "apply_unsupported_change" in codes(found)
    assert cluster.graph().schema_text() == SCHEMA


def test_dropped_properties_stay_in_older_commits(cluster: Declared) -> None:
    cluster.applied()
    graph = cluster.graph()
    made = graph.mutate('query q() { insert Person {name: "x", age: 3} }').commit
    assert made is not None
    cluster.write("kb.pg", "node Person { name: String @key }\n")
    plan = cluster.plan().plan
    assert plan is not None
    schema = plan.find("schema.kb")
    assert schema is not None
    assert (schema.risk, schema.decision.disposition) == (Risk.RISKY, Disposition.APPLIED)
    cluster.applied()
    assert cluster.graph().query("query q() { match { $p: Person } return { $p.age } }", at=made.id).rows == [
        {"p.age": 3}
    ]


def test_a_graph_is_deleted_with_an_approval_of_exactly_this_configuration(cluster: Declared) -> None:
    cluster.applied()
    cluster.config(EMPTY)
    waiting = cluster.apply()
    assert (waiting.ok, waiting.converged) == (True, False)
    assert set(codes(waiting)) == {"approval_required", "apply_dependency_blocked"}
    assert cluster.graph().schema_text() == SCHEMA
    assert read_snapshot(cluster.root).graphs[0].policy is not None, "a graph that waits keeps its policy"
    first = approve(cluster.operator, "graph.kb").approval
    assert first is not None
    assert approve(cluster.operator, "graph.kb").approval == first, "the same approval counts once"
    cluster.config(EMPTY + "tokens: { bob: '${BOB}' }\n")
    stale = cluster.apply()
    assert {"approval_stale", "approval_required"} <= set(codes(stale))
    assert cluster.graph().schema_text() == SCHEMA
    approve(cluster.operator, "graph.kb")
    found = cluster.apply()
    assert (found.converged, found.ok) == (True, True)
    assert not (Path(cluster.root) / "graphs" / "kb.omni").exists()
    used = [json.loads(file.read_text()) for file in sorted(cluster.file("approvals").glob("*.json"))]
    assert [item.get("consumed_by_operation") for item in used] == [None, found.operation]
    assert cluster.plan().converged


def test_a_used_approval_does_not_count_again(cluster: Declared) -> None:
    cluster.applied()
    cluster.config(EMPTY)
    assert approve(cluster.operator, "graph.kb").ok
    cluster.applied()
    # As if the run had been killed before it marked the file.
    for file in cluster.file("approvals").glob("*.json"):
        content = json.loads(file.read_text())
        del content["consumed_at"], content["consumed_by_operation"]
        file.write_text(json.dumps(content))
    cluster.config(CONFIG)
    cluster.applied()
    cluster.config(EMPTY)
    assert "approval_required" in codes(cluster.apply())
    assert cluster.graph().schema_text() == SCHEMA


@pytest.mark.parametrize("resource", ["graph.kb", "policy.team", "graph.none", "nonsense"])
def test_only_a_graph_that_leaves_is_approved(cluster: Declared, resource: str) -> None:
    cluster.applied()
    assert codes(approve(cluster.operator, resource)) == ["approval_not_required"]


def test_bindings_of_a_policy_are_a_change_of_their_own(cluster: Declared) -> None:
    cluster.write("ops.yaml", SERVER_POLICY)
    cluster.applied()
    cluster.config(
        """
version: 1
graphs: { kb: { schema: kb.pg, queries: queries/ }, second: { schema: kb.pg } }
policies:
  team: { file: team.yaml, applies_to: [kb, second] }
  ops: { file: ops.yaml, applies_to: [cluster] }
"""
    )
    plan = cluster.plan().plan
    assert plan is not None
    team = plan.find("policy.team")
    assert team is not None
    assert team.change.binding_change is not None
    assert (team.change.metadata, team.change.binding_change.after) == ("policy_bindings", ("kb", "second"))
    assert team.blast_radius == ("graph.kb", "graph.second")
    cluster.applied()
    snapshot = read_snapshot(cluster.root)
    assert [item.policy is not None for item in snapshot.graphs] == [True, True]
    assert snapshot.server_policy is not None


def test_a_graph_that_a_killed_run_created_is_taken_over(cluster: Declared) -> None:
    omnigraph.create(f"{cluster.root}/graphs/kb.omni", SCHEMA, durability="os")
    found = cluster.apply()
    assert (codes(found), found.converged) == (["cluster_recovery_rolled_forward"], True)


def test_an_empty_graph_of_a_killed_run_gets_the_schema_that_is_declared_by_now(cluster: Declared) -> None:
    omnigraph.create(f"{cluster.root}/graphs/kb.omni", SCHEMA, durability="os")
    cluster.write("kb.pg", WIDER)
    found = cluster.apply()
    assert (codes(found), found.converged) == (["cluster_recovery_rolled_forward"], True)
    assert cluster.graph().schema_text() == WIDER


def test_a_graph_with_data_and_another_schema_is_left_alone(cluster: Declared) -> None:
    graph = omnigraph.create(f"{cluster.root}/graphs/kb.omni", WIDER, durability="os")
    graph.mutate('query q() { insert Person {name: "x"} }')
    found = cluster.apply()
    assert (found.ok, found.converged) == (False, False)
    assert codes(found) == ["apply_dependency_blocked", "apply_dependency_blocked", "graph_create_skipped"]
    assert cluster.graph().schema_text() == WIDER


def test_a_graph_that_exists_with_its_data_is_adopted_by_the_import(tmp_path: Path) -> None:
    cluster = Declared(tmp_path / "c")
    graph = omnigraph.create(f"{cluster.root}/graphs/kb.omni", SCHEMA, durability="os")
    graph.mutate('query q() { insert Person {name: "x"} }')
    cluster.import_()
    assert "graph.kb" not in {name for name, operation in cluster.changes().items() if operation == "create"}
    cluster.applied()
    assert len(list(graph.commits())) == 2


def test_an_import_makes_the_first_state_only(cluster: Declared) -> None:
    assert codes(import_cluster(cluster.operator)) == ["state_already_exists"]


def test_two_appliers_never_both_win(cluster: Declared) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: cluster.apply(), range(4)))
    refused = [item for item in found if not item.ok]
    assert {code for item in refused for code in codes(item)} <= {"state_lock_held"}
    assert cluster.apply().converged
    assert len(list(cluster.graph().commits())) == 1
    assert json.loads(cluster.file("state.json").read_text())["state_revision"] == 2


def test_without_a_lock_one_applier_wins_and_the_others_record_nothing(tmp_path: Path) -> None:
    cluster = Declared(tmp_path / "c", CONFIG + "state: { lock: false }\n")
    cluster.import_()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: cluster.apply(), range(4)))
    problems = {code for item in found for code in codes(item)} - {"state_lock_disabled"}
    assert problems <= {"state_cas_mismatch", "cluster_recovery_rolled_forward", "graph_create_incomplete",
                        "graph_create_failed", "apply_dependency_blocked"}  # fmt: skip
    last = cluster.apply()
    assert last.converged
    assert len(list(cluster.graph().commits())) == 1


def test_a_state_that_another_process_has_replaced_is_not_overwritten(cluster: Declared) -> None:
    store = Store(cluster.root)
    ledger = read_ledger(store)
    assert ledger is not None
    cluster.applied()
    with pytest.raises(Refused) as caught:
        write_next(store, ledger, ledger.state)
    assert caught.value.diagnostic.code == "state_cas_mismatch"
    assert cluster.plan().converged


def test_notes_of_interrupted_operations_of_0_10_are_retired(cluster: Declared) -> None:
    notes = cluster.file("recoveries")
    notes.mkdir(parents=True)
    (notes / "01A.json").write_text('{"graph_id": "kb"}')
    (notes / "01B.json").write_text("{")
    found = cluster.apply()
    assert codes(found) == ["cluster_recovery_rolled_forward", "invalid_recovery_sidecar"]
    assert [file.name for file in notes.iterdir()] == ["01B.json"]


@pytest.mark.s3
def test_a_cluster_in_a_bucket_is_applied_and_swapped_the_same_way(
    tmp_path: Path, s3_server: Server, s3_bucket: Bucket
) -> None:
    options = s3_server.storage_options()
    cluster = Declared(tmp_path / "c", storage=s3_bucket.uri("prod"), storage_options=options)
    cluster.import_()
    store = Store(cluster.root, options)
    before = read_ledger(store)
    assert before is not None
    cluster.applied()
    with pytest.raises(Refused, match="changed by another process"):
        write_next(store, before, before.state)
    assert cluster.plan().converged
    assert [item.id for item in read_snapshot(cluster.root, options).graphs] == ["kb"]
    cluster.config(EMPTY)
    approve(cluster.operator, "graph.kb")
    cluster.applied()
    assert s3_bucket.keys("prod/graphs/") == []
