"""The gate in front of every verb: which permission a call needs, and that nothing happens without it."""

import asyncio
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Action, Actor, Graph, aio
from omnigraph.core.actors import Need
from omnigraph.engine.access import gated as gating
from omnigraph.engine.access.gates import GATES, Data
from omnigraph.engine.load_options import LoadOptions
from omnigraph.errors import ArgumentError, PolicyDenied, UsageError
from omnigraph.query.visibility.data_scope import DataScope
from tests.features.policy.recording import Recorder

SCHEMA = """
node Person { name: String @key
  photo: Blob? }
edge Knows: Person -> Person
"""
READ_ALL = "query q() { match { $p: Person } return { $p.name } }"
INSERT = 'query q() { insert Person {name: "eve"} }'
ROWS = [{"name": "zoe"}]
RULES = {"compare": {"name": "exact"}}
EVERYTHING = frozenset(Action)

READ, CHANGE, EXPORT, ADMIN = Action.READ, Action.CHANGE, Action.EXPORT, Action.ADMIN
ON_MAIN, ON_EXP = Need(READ, "main"), Need(READ, "exp")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with a branch `exp` that has a commit of its own."""
    path = tmp_path_factory.mktemp("gates") / "people.omni"
    graph = omnigraph.create(path, SCHEMA)
    graph.mutate('query q() { insert Person {name: "ann"} }')
    graph.create_branch("exp")
    graph.mutate('query q() { insert Person {name: "bob"} }', branch="exp")
    return path


@pytest.fixture
def authorizer() -> Recorder:
    return Recorder()


@pytest.fixture
def graph(root: Path, authorizer: Recorder) -> Graph:
    return omnigraph.open(root, authorizer=authorizer)


Call = Callable[[Graph], Any]

# verb -> a call of it, and the needs that the authorizer must be asked for, in this order
CALLS: dict[str, tuple[Call, list[Need]]] = {
    "snapshot": (lambda g: g.snapshot("exp"), [ON_EXP]),
    "moment": (lambda g: g.moment("main~1"), [ON_MAIN]),
    "query": (lambda g: g.query(READ_ALL, branch="exp"), [ON_EXP]),
    "prepare": (lambda g: g.prepare(READ_ALL, at="exp"), [ON_EXP]),
    "query_with": (lambda g: g.query_with(lambda query, view: None, READ_ALL, at="exp"), [ON_EXP]),
    "sql": (lambda g: g.sql("select 1"), [ON_MAIN]),
    "spark_views": (lambda g: g.spark_views(at="exp~1"), [ON_MAIN]),
    "spark_sql": (lambda g: g.spark_sql("SELECT 1", at="exp~1"), [ON_MAIN]),
    "register_tables": (lambda g: g.register_tables("kb", at="exp~1"), [ON_MAIN]),
    "explain": (lambda g: g.explain(READ_ALL), [ON_MAIN]),
    "nodes": (lambda g: g.nodes("Person", branch="exp"), [ON_EXP]),
    "edges": (lambda g: g.edges(), [ON_MAIN]),
    "counts": (lambda g: g.counts(), [ON_MAIN]),
    "to_networkx": (lambda g: g.to_networkx(), [ON_MAIN]),
    "to_igraph": (lambda g: g.to_igraph(), [ON_MAIN]),
    "to_pyg": (lambda g: g.to_pyg(), [ON_MAIN]),
    "nx": (lambda g: g.nx(), [ON_MAIN]),
    "draw": (lambda g: g.draw(), [ON_MAIN]),
    "read_blob": (lambda g: g.read_blob("Person", "ann", "photo"), [ON_MAIN]),
    "catalog": (lambda g: g.catalog("exp"), [ON_EXP]),
    "schema": (lambda g: g.schema, [ON_MAIN]),
    "schema_text": (lambda g: g.schema_text(), [ON_MAIN]),
    "external_types": (lambda g: g.external_types("exp"), [ON_EXP]),
    "refresh_external": (lambda g: g.refresh_external(branch="exp"), [Need(CHANGE, "exp")]),
    "refresh_external_preview": (lambda g: g.refresh_external_preview(branch="exp"), [Need(CHANGE, "exp")]),
    "plan_schema": (lambda g: g.plan_schema(SCHEMA), [ON_MAIN]),
    "analyze": (lambda g: g.analyze.degrees(branch="exp"), [ON_EXP]),
    "branches": (lambda g: g.branches(), [Need(READ)]),
    "delete_branch_preview": (lambda g: g.delete_branch_preview("exp"), [ON_EXP]),
    "commits": (lambda g: list(g.commits("exp")), [ON_EXP]),
    "commit": (lambda g: g.commit("main"), [Need(READ)]),
    "commit_changes": (lambda g: g.commit_changes("exp"), [ON_EXP]),
    "diff": (lambda g: g.diff("main", "exp"), [ON_MAIN, ON_EXP]),
    "changes": (lambda g: g.changes("beginning"), [ON_MAIN]),
    "feed": (lambda g: g.feed("exp"), [ON_EXP]),
    "merge_preview": (lambda g: g.merge_preview("exp"), [ON_EXP, ON_MAIN]),
    "revert_preview": (lambda g: g.revert_preview("HEAD"), [ON_MAIN]),
    "mirrors": (lambda g: g.mirrors(), [Need(READ)]),
    "export": (lambda g: list(g.export("exp")), [Need(EXPORT, "exp")]),
    "export_files": (lambda g: g.export_files("target"), [Need(EXPORT, "main")]),
    "change_baseline": (lambda g: g.change_baseline(), [Need(EXPORT, "main")]),
    "mirror": (lambda g: g.mirror("target"), [Need(EXPORT, "main")]),
    "mutate": (lambda g: g.mutate(INSERT, branch="exp"), [Need(CHANGE, "exp")]),
    "mutate_preview": (
        lambda g: g.mutate_preview(INSERT.replace("} }", "} returning { name } }"), branch="exp"),
        [Need(CHANGE, "exp"), ON_EXP],
    ),
    "load": (
        lambda g: g.load({"Person": ROWS}, branch="new", base="exp"),
        [Need(Action.BRANCH_CREATE, "exp", "new"), Need(CHANGE, "new")],
    ),
    "load_preview": (lambda g: g.load_preview({"Person": ROWS}, branch="exp", base="main"), [Need(CHANGE, "exp")]),
    "load_spark": (lambda g: g.load_spark(["rows.jsonl"]), [Need(CHANGE, "main")]),
    "load_spark_preview": (lambda g: g.load_spark_preview(["rows.jsonl"]), [Need(CHANGE, "main")]),
    "load_with": (lambda g: g.load_with(_no_loader, LoadOptions(branch="exp")), [Need(CHANGE, "exp")]),
    "preview_with": (lambda g: g.preview_with(_no_loader, LoadOptions()), [Need(CHANGE, "main")]),
    "earlier_load": (lambda g: g.earlier_load(LoadOptions()), [Need(CHANGE, "main")]),
    "load_documents": (
        lambda g: g.load_documents([], branch="new", base="exp"),
        [Need(Action.BRANCH_CREATE, "exp", "new"), Need(CHANGE, "new"), ON_EXP],
    ),
    "load_documents_preview": (lambda g: g.load_documents_preview([]), [ON_MAIN]),
    "commit_versions": (lambda g: g.commit_versions({}), [Need(CHANGE, "main")]),
    "revert": (lambda g: g.revert("HEAD"), [Need(CHANGE, "main")]),
    "apply_schema": (lambda g: g.apply_schema(SCHEMA), [Need(Action.SCHEMA_APPLY, None, "main")]),
    "merge": (lambda g: g.merge("exp"), [Need(Action.BRANCH_MERGE, "exp", "main")]),
    "resolve": (
        lambda g: g.resolve("Person", RULES, branch="new", base="exp"),
        [Need(Action.BRANCH_CREATE, "exp", "new"), Need(CHANGE, "new"), ON_EXP],
    ),
    "resolve_preview": (lambda g: g.resolve_preview("Person", RULES), [ON_MAIN]),
    "create_branch": (lambda g: g.create_branch("b", at="exp~1"), [Need(Action.BRANCH_CREATE, "main", "b")]),
    "delete_branch": (lambda g: g.delete_branch("exp"), [Need(Action.BRANCH_DELETE, None, "exp")]),
    "rename_branch": (
        lambda g: g.rename_branch("exp", "b"),
        [Need(Action.BRANCH_DELETE, None, "exp"), Need(Action.BRANCH_CREATE, "exp", "b")],
    ),
    "verify": (lambda g: g.verify(), [Need(ADMIN)]),
    "doctor": (lambda g: g.doctor(), [Need(ADMIN)]),
    "optimize": (lambda g: g.optimize(), [Need(ADMIN)]),
    "cleanup": (lambda g: g.cleanup(), [Need(ADMIN)]),
    "remove_mirror": (lambda g: g.remove_mirror("target"), [Need(ADMIN)]),
    "copy": (lambda g: g.copy("target"), [Need(ADMIN)]),
    "backup": (lambda g: g.backup("target"), [Need(ADMIN)]),
}


def _no_loader(job: object) -> Any:
    raise AssertionError("a denied load must not begin")


def test_every_public_member_of_a_graph_has_a_gate_and_every_gate_a_call() -> None:
    members = {name for name in dir(Graph) if not name.startswith("_")}
    assert members == set(GATES)
    unasked = {name for name, gate in GATES.items() if gate.needs is GATES["uri"].needs} - {"analyze"}
    assert set(CALLS) == members - unasked
    # Without entities and without a decision of their own: addresses, settings, and what only calls other verbs.
    assert unasked == {"uri", "storage_options", "tuning", "id", "embedder", "actor", "acting_as", "under", "retry"}


def test_a_verb_without_a_gate_is_refused_when_the_class_is_made() -> None:
    class Verbs:
        def query(self) -> None: ...
        def forgotten(self) -> None: ...

    with pytest.raises(TypeError, match="forgotten"):
        gating.gated({"query": GATES["query"]})(Verbs)
    with pytest.raises(TypeError, match="spare"):
        gating.gated({"query": GATES["query"], "forgotten": GATES["query"], "spare": GATES["query"]})(Verbs)


@pytest.mark.parametrize("verb", CALLS)
def test_every_verb_asks_for_its_needs_and_is_denied_before_it_does_anything(
    verb: str, graph: Graph, authorizer: Recorder
) -> None:
    call, needs = CALLS[verb]
    before = graph._manifests.fresh(graph.id).head
    with pytest.raises(PolicyDenied, match=f"policy denied {needs[0]} for actor 'ann'") as denied:
        call(graph.acting_as("ann"))
    assert denied.value.facts["action"] == needs[0].action.value
    assert authorizer.asked == needs[:1]
    assert graph._manifests.fresh(graph.id).head == before


@pytest.mark.parametrize("verb", [name for name, (_, needs) in CALLS.items() if len(needs) > 1])
def test_a_verb_with_several_needs_asks_for_all_of_them_in_order(verb: str, root: Path) -> None:
    call, needs = CALLS[verb]
    authorizer = Recorder(EVERYTHING - {needs[-1].action}) if needs[0].action != needs[-1].action else Recorder()
    graph = omnigraph.open(root, authorizer=authorizer, actor="ann")
    if needs[0].action == needs[-1].action:
        authorizer.allowed = EVERYTHING
        call(graph)
    else:
        with pytest.raises(PolicyDenied):
            call(graph)
    assert authorizer.asked == needs


@pytest.mark.parametrize("verb", CALLS)
def test_a_call_without_an_actor_is_denied_without_a_decision(verb: str, graph: Graph, authorizer: Recorder) -> None:
    authorizer.allowed = EVERYTHING
    with pytest.raises(PolicyDenied, match="the call names no actor") as denied:
        CALLS[verb][0](graph)
    assert denied.value.hint == "pass actor=..., or call graph.acting_as(actor) first"
    assert authorizer.asked == []


@pytest.mark.parametrize("verb", [name for name in CALLS if name not in ("schema", "analyze")])
def test_every_verb_takes_the_actor_of_the_call(verb: str) -> None:
    parameters = inspect.signature(getattr(Graph, verb)).parameters
    assert GATES[verb].actor in parameters or "options" in parameters


def test_properties_show_to_a_graph_that_acts_as_an_actor(graph: Graph, authorizer: Recorder) -> None:
    authorizer.allowed = EVERYTHING
    assert "Person" in graph.acting_as("ann").schema
    assert authorizer.asked == [ON_MAIN]
    assert "schema" in dir(graph)  # completion looks at names only, and asks nothing


@pytest.mark.parametrize("verb", [name for name, gate in GATES.items() if gate.data is Data.WHOLE])
def test_verbs_that_cannot_filter_are_denied_to_actors_with_data_rules(
    verb: str, graph: Graph, authorizer: Recorder
) -> None:
    authorizer.allowed = EVERYTHING
    authorizer.scopes["ann"] = DataScope({}, "nothing")
    with pytest.raises(PolicyDenied, match="cannot apply the data rules of the actor"):
        CALLS[verb][0](graph.acting_as("ann"))


def test_a_verb_that_calls_others_is_decided_once(graph: Graph, authorizer: Recorder) -> None:
    authorizer.allowed = EVERYTHING
    graph.query(READ_ALL, actor="ann")
    assert authorizer.asked == [ON_MAIN]
    authorizer.asked.clear()
    loaded = graph.load({"Person": ROWS}, actor="ann", branch="loads", base="main")
    assert authorizer.asked == [Need(Action.BRANCH_CREATE, "main", "loads"), Need(CHANGE, "loads")]
    assert loaded.commit is not None
    graph.delete_branch("loads", actor="ann")


def test_permission_for_one_call_is_not_kept_for_the_next(graph: Graph, authorizer: Recorder) -> None:
    authorizer.allowed = EVERYTHING
    ann = graph.acting_as("ann")
    ann.query(READ_ALL)
    authorizer.allowed = frozenset()
    with pytest.raises(PolicyDenied):
        ann.query(READ_ALL)


def test_the_actor_of_the_graph_signs_its_commits(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g.omni", SCHEMA)
    ann = graph.acting_as(Actor("ann", {"staff"}, {"level": 3}))
    commit = ann.mutate(INSERT).commit
    assert commit is not None
    assert commit.actor == "ann"
    assert ann.load({"Person": ROWS}).actor == "ann"
    assert ann.create_branch("b").actor == "ann"
    # The graph itself stays without an actor, and both see the same state.
    assert graph.actor is None
    assert graph.counts() == ann.counts() == {"Person": 2, "Knows": 0}


def test_a_graph_that_acts_as_one_actor_does_not_act_as_another(graph: Graph, authorizer: Recorder) -> None:
    authorizer.allowed = EVERYTHING
    ann = graph.acting_as(Actor("ann", {"staff"}))
    assert ann.acting_as("ann").actor == ann.actor
    ann.query(READ_ALL, actor="ann")
    for call in (lambda: ann.acting_as("bob"), lambda: ann.query(READ_ALL, actor="bob")):
        with pytest.raises(UsageError, match="acts as 'ann', and the call names 'bob'"):
            call()
    with pytest.raises(UsageError, match="acts as 'ann'"):
        ann.query(READ_ALL, actor=Actor("ann", {"admins"}))


def test_a_graph_is_put_under_an_authorizer_once(root: Path, authorizer: Recorder) -> None:
    free = omnigraph.open(root)
    bound = free.under(authorizer)
    assert bound._derived is free._derived
    with pytest.raises(PolicyDenied):
        bound.query(READ_ALL, actor="ann")
    assert free.query(READ_ALL).to_pylist(), "the graph itself stays as it was"
    with pytest.raises(UsageError, match="has an authorizer already"):
        bound.under(Recorder(EVERYTHING))


def test_graphs_of_several_actors_share_their_caches(graph: Graph) -> None:
    ann, bob = graph.acting_as("ann"), graph.acting_as("bob")
    assert ann._derived is bob._derived is graph._derived
    assert ann._compiler is bob._compiler is graph._compiler
    assert ann._context is bob._context is graph._context


def test_a_pickled_graph_keeps_its_authorizer_and_actor(graph: Graph, authorizer: Recorder) -> None:
    authorizer.allowed = EVERYTHING
    ann = pickle.loads(pickle.dumps(graph.acting_as("ann")))
    assert ann.actor == Actor("ann")
    assert len(ann.query(READ_ALL)) == 1
    unbound = pickle.loads(pickle.dumps(graph))
    with pytest.raises(PolicyDenied):
        unbound.query(READ_ALL)


def test_without_a_policy_no_gate_is_evaluated(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise AssertionError("a graph without a policy has nothing to ask")

    monkeypatch.setattr(gating, "_granted", fail)
    monkeypatch.setattr(gating, "_named_actor", fail)
    graph = pickle.loads(pickle.dumps(omnigraph.open(root)))
    assert len(graph.query(READ_ALL, actor="ann")) == 1


def test_the_asynchronous_graph_passes_the_same_gates(root: Path, authorizer: Recorder) -> None:
    async def run() -> None:
        async with aio.open(root, authorizer=authorizer) as graph:
            with pytest.raises(PolicyDenied, match="no actor"):
                await graph.query(READ_ALL)
            ann = graph.acting_as("ann")
            with pytest.raises(PolicyDenied, match="'ann'"):
                await ann.query(READ_ALL)
            authorizer.allowed = EVERYTHING
            assert ann.actor == Actor("ann")
            assert len(await ann.query(READ_ALL)) == 1

    asyncio.run(run())


@pytest.mark.parametrize(
    "given",
    [
        {"id": ""},
        {"id": " "},
        {"id": 3},
        {"id": "a", "groups": "staff"},
        {"id": "a", "groups": {1}},
        {"id": "a", "attributes": ["x"]},
    ]
    + [{"id": "a", "attributes": {"x": value}} for value in (1.5, None, {"a": 1}, ["a", 1], 2**63, b"x", [["a"]])],
)
def test_an_actor_that_is_not_one_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Actor(**given)


def test_actors_are_values() -> None:
    one = Actor("ann", {"b", "a"}, {"level": 3, "teams": ["x", "y"]})
    other = Actor("ann", frozenset({"a", "b"}), {"teams": ("y", "x"), "level": 3})
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == "ann"
    assert pickle.loads(pickle.dumps(one)) == one


def test_an_actor_of_the_wrong_type_is_an_argument_error(root: Path) -> None:
    graph = omnigraph.open(root)
    with pytest.raises(ArgumentError, match="actor must be the id of an actor or an Actor, got the int 3"):
        graph.query(READ_ALL, actor=3)  # type: ignore[call-overload] # the test passes it on purpose
