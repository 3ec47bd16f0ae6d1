"""A cluster with one change of every kind to apply, and what must be true after an interrupted run was repeated."""

from collections.abc import Mapping
from pathlib import Path

import omnigraph
from omnigraph.cluster.control.apply import apply, approve, plan
from omnigraph.cluster.control.approvals import read_approvals
from omnigraph.cluster.control.ledger import required_ledger
from omnigraph.cluster.control.observe import import_cluster
from omnigraph.cluster.control.session import Operator
from omnigraph.cluster.control.status import status, unlock
from omnigraph.cluster.serving import read_snapshot
from omnigraph.errors import NotAGraphError
from omnigraph.storage.tables.store import Store

SCHEMA = "node Person { name: String @key\n  age: I32? }\n"
WIDER = "node Person { name: String @key\n  age: I32?\n  city: String? }\n"
POLICY = """
version: 1
groups: { readers: [ann] }
rules:
  - id: readers-read
    allow: { actors: { group: readers }, actions: [read] }
"""
BEFORE = """
version: 1
graphs: { kb: { schema: kb.pg, queries: [old.gq] }, gone: { schema: kb.pg } }
policies: { team: { file: team.yaml, applies_to: [kb, gone] } }
"""
AFTER = """
version: 1
graphs: { kb: { schema: kb.pg, queries: [cities.gq] }, fresh: { schema: kb.pg } }
policies: { team: { file: team.yaml, applies_to: [kb, fresh] } }
tokens: { ann: "${ANN}" }
"""
RESOURCES = {
    "graph.fresh", "graph.kb", "policy.team", "query.kb.cities", "schema.fresh", "schema.kb", "token.ann"
}  # fmt: skip


def prepare(directory: Path, storage: str | None = None, options: Mapping[str, str] | None = None) -> None:
    """A cluster that was applied, and a configuration that changes, creates and deletes, with its approval."""
    place = "" if storage is None else f"storage: {storage}\n"
    directory.mkdir(parents=True, exist_ok=True)
    operator = Operator(directory, options or {}, "ann")
    files = {
        "cluster.yaml": BEFORE + place,
        "kb.pg": SCHEMA,
        "team.yaml": POLICY,
        "old.gq": "query old() { match { $p: Person } return { $p.age } }",
        "cities.gq": "query cities() { match { $p: Person } return { $p.city } }",
    }
    for name, text in files.items():
        (directory / name).write_text(text)
    assert import_cluster(operator).ok
    assert apply(operator).converged
    (directory / "cluster.yaml").write_text(AFTER + place)
    (directory / "kb.pg").write_text(WIDER)
    assert approve(operator, "graph.gone").ok


def finish(directory: Path, root: str, options: Mapping[str, str] | None = None) -> None:
    """Repeat the run as an operator would, and check that everything was done, and nothing twice."""
    operator = Operator(directory, options or {}, "ann")
    lock = status(operator).lock
    if lock is not None:
        assert unlock(operator, lock.lock_id).ok
    again = apply(operator)
    assert again.converged, again.diagnostics
    left = plan(operator)
    assert left.converged, left.plan
    check(root, options or {})


def check(root: str, options: Mapping[str, str]) -> None:
    """The cluster that a run without any fault leaves."""
    store = Store(root, options)
    ledger = required_ledger(store)
    assert ledger.state.state_revision == 3, "the state is written once"
    assert set(ledger.state.applied_revision.resources) == RESOURCES
    assert {item.status for item in ledger.state.resource_statuses.values()} == {"applied"}
    histories = {}
    for name in ("kb", "fresh"):
        graph = omnigraph.open(f"{root}/graphs/{name}.omni", storage_options=options)
        assert graph.schema_text() == WIDER
        assert graph.verify().is_clean
        histories[name] = [commit.kind.value for commit in graph.commits()]
    assert histories == {"kb": ["schema", "init"], "fresh": ["init"]}, "nothing is applied twice"
    try:
        omnigraph.open(f"{root}/graphs/gone.omni", storage_options=options)
    except NotAGraphError:
        pass
    else:
        raise AssertionError("the graph was not deleted")
    assert not list(store.objects.list("graphs/gone.omni")), "a deletion leaves no files"
    (approval,) = read_approvals(store)
    assert (approval.consumed_at is not None, list(ledger.state.approval_records)) == (True, [approval.approval_id])
    snapshot = read_snapshot(root, options)
    assert [(item.id, sorted(item.queries)) for item in snapshot.graphs] == [("fresh", []), ("kb", ["cities"])]
    assert store.objects.read("__cluster/lock.json") is None
