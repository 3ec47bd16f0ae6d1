"""Drift, locks and the state: what differs is reported and repaired by the next plan, a left lock is released by id."""

import json
import os
import shutil
from pathlib import Path

import pytest

from omnigraph.cluster.control.ledger import read_ledger
from omnigraph.cluster.control.lock import held
from omnigraph.cluster.control.observe import observe
from omnigraph.cluster.control.status import status, unlock
from omnigraph.core.ports import SystemClock, UlidSource
from omnigraph.storage.tables.store import Store
from tests.features.cluster.declared import CONFIG, SCHEMA, WIDER, Declared, codes

DEAD_PID = 2**22 + 1
"""More than the kernel gives to a process."""


def lock(cluster: Declared, **facts: object) -> None:
    form = {"version": 1, "lock_id": "01A", "operation": "apply", "created_at": "2026-01-01T00:00:00Z", "pid": DEAD_PID}
    cluster.file("lock.json").write_text(json.dumps({**form, **facts}))


def statuses(cluster: Declared) -> dict[str, str]:
    state = json.loads(cluster.file("state.json").read_text())
    return {name: item["status"] for name, item in state["resource_statuses"].items()}


def test_a_cluster_without_drift_is_not_written(cluster: Declared) -> None:
    cluster.applied()
    before = cluster.file("state.json").read_bytes()
    found = observe(cluster.operator)
    assert (found.ok, found.state_written, found.diagnostics) == (True, False, [])
    assert cluster.file("state.json").read_bytes() == before


def test_a_missing_graph_is_drift_and_is_created_by_the_next_apply(cluster: Declared) -> None:
    cluster.applied()
    shutil.rmtree(Path(cluster.root) / "graphs" / "kb.omni")
    found = observe(cluster.operator)
    assert (codes(found), found.ok, statuses(cluster)["graph.kb"]) == (["graph_missing"], True, "drifted")
    assert cluster.changes() == {"graph.kb": "create", "schema.kb": "create"}
    cluster.applied()
    assert cluster.graph().schema_text() == SCHEMA
    assert set(statuses(cluster).values()) == {"applied"}


def test_a_schema_that_others_changed_is_drift_and_is_changed_back(cluster: Declared) -> None:
    cluster.applied()
    cluster.graph().apply_schema(WIDER)
    assert cluster.plan().converged, "a plan compares what is declared with what was applied"
    found = observe(cluster.operator)
    assert (codes(found), statuses(cluster)["schema.kb"]) == (["schema_mismatch"], "drifted")
    assert cluster.changes() == {"schema.kb": "update"}
    cluster.applied()
    assert "city" not in cluster.graph().schema_text()
    assert cluster.plan().converged


def test_a_schema_that_others_changed_to_the_declared_one_is_accepted(cluster: Declared) -> None:
    cluster.applied()
    cluster.graph().apply_schema(WIDER)
    cluster.write("kb.pg", WIDER)
    assert codes(observe(cluster.operator)) == ["schema_mismatch"]
    assert cluster.changes() == {"graph.kb": "update"}, "only its digest"
    cluster.applied()
    assert set(statuses(cluster).values()) == {"applied"}
    assert len(list(cluster.graph().commits())) == 2


def test_an_approval_that_cannot_be_read_is_refused(cluster: Declared) -> None:
    cluster.file("approvals").mkdir()
    cluster.file("approvals/01A.json").write_text("{}")
    assert codes(cluster.apply()) == ["invalid_approval"]


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_missing_or_changed_file_is_drift_and_is_written_again(cluster: Declared, damage: str) -> None:
    cluster.applied()
    (file,) = cluster.file("resources/query/kb/everyone").iterdir()
    content = file.read_bytes()
    file.unlink()
    if damage == "changed":
        file.write_text("other")
    code = {"missing": "catalog_payload_missing", "changed": "catalog_payload_digest_mismatch"}[damage]
    looked = status(cluster.operator)
    assert (codes(looked), looked.ok) == ([code], True)
    assert codes(observe(cluster.operator)) == [code]
    assert cluster.changes() == {"query.kb.everyone": "create"}
    cluster.applied()
    assert file.read_bytes() == content


def test_a_graph_that_cannot_be_read_is_an_error(cluster: Declared) -> None:
    cluster.applied()
    (Path(cluster.root) / "graphs" / "kb.omni" / "omnigraph.json").write_text("{")
    found = observe(cluster.operator)
    assert (codes(found), found.ok, statuses(cluster)["graph.kb"]) == (["graph_observation_error"], False, "error")
    cluster.write("kb.pg", WIDER)
    assert "schema_preview_unavailable" in codes(cluster.plan())


def test_the_state_is_shown_with_its_lock_and_without_one(cluster: Declared) -> None:
    cluster.applied()
    lock(cluster)
    found = status(cluster.operator)
    assert found.ledger is not None
    assert found.lock is not None
    assert (found.ok, found.lock.lock_id, found.ledger.state.state_revision) == (True, "01A", 2)
    cluster.file("lock.json").write_text("{")
    broken = status(cluster.operator)
    assert (codes(broken), broken.ledger is not None) == (["invalid_state_lock"], True)


def test_a_state_is_shown_although_the_configuration_has_errors(cluster: Declared) -> None:
    cluster.applied()
    cluster.config(CONFIG.replace("kb.pg", "none.pg"))
    found = status(cluster.operator)
    assert (found.ok, found.ledger is not None) == (False, True)


def test_every_command_that_needs_a_state_says_so(tmp_path: Path) -> None:
    cluster = Declared(tmp_path)
    assert codes(cluster.apply()) == codes(observe(cluster.operator)) == codes(status(cluster.operator))
    assert codes(cluster.apply()) == ["state_missing"]
    first = cluster.plan()
    assert (codes(first), first.ok, len(first.plan.changes if first.plan else ())) == (["state_missing"], True, 4)
    assert not (tmp_path / "__cluster" / "state.json").exists()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{", "invalid_state_json"),
        ('{"version": 2, "state_revision": 1, "applied_revision": {}}', "unsupported_state_version"),
        ('{"version": 1, "state_revision": 1, "applied_revision": {}, "more": 1}', "invalid_state_json"),
    ],
)
def test_a_state_that_cannot_be_read_is_refused(cluster: Declared, content: str, code: str) -> None:
    cluster.file("state.json").write_text(content)
    assert codes(cluster.plan()) == codes(cluster.apply()) == [code]
    assert not cluster.file("lock.json").exists()


def test_a_lock_is_held_during_a_command_and_refuses_others(cluster: Declared) -> None:
    with held(Store(cluster.root), "apply", SystemClock(), UlidSource()) as lock_id:
        found = cluster.apply()
        assert codes(found) == ["state_lock_held"]
        assert lock_id in found.diagnostics[0].message
        assert str(os.getpid()) in found.diagnostics[0].message
    cluster.applied()


def test_a_lock_that_was_left_behind_is_released_by_its_id_only(cluster: Declared) -> None:
    lock(cluster)
    held_by = cluster.apply()
    assert codes(held_by) == ["state_lock_held"]
    assert "does not run on this machine" in held_by.diagnostics[0].message
    assert codes(unlock(cluster.operator, "01B")) == ["state_lock_id_mismatch"]
    released = unlock(cluster.operator, "01A")
    assert released.ok
    assert codes(unlock(cluster.operator, "01A")) == ["state_lock_missing"]
    cluster.applied()


def test_a_stale_lock_is_released_only_if_its_process_has_ended(cluster: Declared) -> None:
    lock(cluster, pid=os.getpid())
    assert codes(unlock(cluster.operator, None)) == ["state_lock_held"]
    lock(cluster)
    assert unlock(cluster.operator, None).ok


@pytest.mark.parametrize(
    ("facts", "code"), [({"version": 2}, "unsupported_state_lock_version"), ({"more": 1}, "invalid_state_lock")]
)
def test_a_lock_of_another_form_is_not_released(cluster: Declared, facts: dict[str, object], code: str) -> None:
    lock(cluster, **facts)
    assert codes(unlock(cluster.operator, "01A")) == [code]
    assert codes(cluster.apply()) == ["state_lock_held"]


def test_a_command_that_was_unlocked_meanwhile_leaves_the_lock_of_another(cluster: Declared) -> None:
    store = Store(cluster.root)
    with held(store, "apply", SystemClock(), UlidSource()) as lock_id:
        assert unlock(cluster.operator, lock_id).ok
        lock(cluster)
    assert cluster.file("lock.json").exists()


def test_the_token_of_a_state_is_that_of_its_bytes(cluster: Declared) -> None:
    ledger = read_ledger(Store(cluster.root))
    assert ledger is not None
    assert ledger.token.startswith("sha256:")
    assert len(ledger.token) == len("sha256:") + 64
