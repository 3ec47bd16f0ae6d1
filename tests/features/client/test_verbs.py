"""The verbs of a graph give equal results in this process and over HTTP."""

import asyncio
import json
import pickle
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph, RemoteGraph
from omnigraph.client.addresses import RemoteAddress
from omnigraph.client.transport import Transport
from omnigraph.errors import (
    AlreadyExistsError,
    ArgumentError,
    BlobRangeError,
    CompileError,
    CursorRejected,
    KeyConflictError,
    LimitExceeded,
    MergeConflicts,
    MigrationRefused,
    NotAuthenticated,
    NotFoundError,
    OmnigraphError,
    ParameterError,
    PreconditionFailed,
    RemoteUnsupported,
    UsageError,
    ViolationError,
)
from omnigraph.wire.branches import branches_json
from omnigraph.wire.changes import change_page_json, commit_changes_json, diff_json
from omnigraph.wire.commits import commit_json, commits_json
from omnigraph.wire.maintenance import optimize_json
from omnigraph.wire.merges import merge_preview_json, revert_preview_json
from omnigraph.wire.plans import plan_json
from tests.features.server.conftest import PHOTO
from tests.features.server.live import BASE, READ_ALL, Live, running, serving_of

AGE = 'query q($age: I32) { update Person set {age: $age} where name = "bo" }'

READS: dict[str, Callable[[Any], Any]] = {
    "query": lambda graph: (graph.query(READ_ALL).arrow(), graph.query(READ_ALL).query_name),
    "query display": lambda graph: repr(graph.query(READ_ALL)),
    "query of a branch": lambda graph: graph.query(READ_ALL, branch="dev").to_dicts(),
    "query of a moment": lambda graph: graph.query(READ_ALL, at="dev~1").to_dicts(),
    "query with parameters": lambda graph: graph.query(
        "query q($on: Date) { match { $p: Person {born: $on} } return { $p.name, $p.born } }", {"on": date(1990, 1, 31)}
    ).to_dicts(),
    "sql": lambda graph: graph.sql("select name, age from Person where age > ? order by name", [20]).arrow(),
    "sql by name": lambda graph: graph.sql("select name from Person where age > $low", {"low": 30}).to_dicts(),
    "counts": lambda graph: graph.counts(),
    "counts of a branch": lambda graph: graph.counts("dev"),
    "len": len,
    "snapshot display": lambda graph: repr(graph.snapshot("dev")),
    "schema": lambda graph: (graph.schema, graph.schema.types, graph.schema_text("dev")),
    "catalog": lambda graph: (sorted(graph.catalog("dev").nodes), sorted(graph.catalog().edges)),
    "branches": lambda graph: branches_json(graph.branches())["details"],
    "branches display": lambda graph: repr(graph.branches()),
    "branches against main": lambda graph: branches_json(graph.branches(against="main"))["details"],
    "commits": lambda graph: commits_json(graph.commits("dev")),
    "commits by filter": lambda graph: commits_json(graph.commits("dev", limit=1, kind="load")),
    "commit": lambda graph: commit_json(graph.commit("dev~1")),
    "commit display": lambda graph: repr(graph.commit("dev")),
    "diff": lambda graph: diff_json(graph.diff("main", "dev")),
    "diff display": lambda graph: repr(graph.diff("main..dev")),
    "diff of a type": lambda graph: list(graph.diff("main", "dev", type="Person", op=["insert"])["Person"]),
    "diff as arrow": lambda graph: graph.diff("main", "dev").to_arrow(1),
    "changes": lambda graph: change_page_json(graph.changes("beginning", branch="dev", limit=2)),
    "commit changes": lambda graph: commit_changes_json(graph.commit_changes("dev", kind="node")),
    "export": lambda graph: b"".join(graph.export("dev")),
    "export of types": lambda graph: b"".join(graph.export(types=["Knows"])),
    "explain": lambda graph: plan_json(graph.explain(READ_ALL).compiled, graph.explain(READ_ALL)),
    "explain display": lambda graph: repr(graph.explain(AGE)),
    "blob": lambda graph: graph.read_blob("Person", "ann", "photo").read(3, 7),
    "blob facts": lambda graph: [
        (blob.size, blob.etag, blob.place_etag, blob.commit_id)
        for blob in [graph.read_blob("node", "Person", "ann", "photo", at="main")]
    ],
    "merge preview": lambda graph: merge_preview_json(graph.merge_preview("dev")),
    "revert preview": lambda graph: revert_preview_json(graph.revert_preview("HEAD", branch="dev")),
    "schema plan": lambda graph: repr(graph.plan_schema("node Person { name: String @key }", branch="dev")),
    "branch loss": lambda graph: graph.delete_branch_preview("dev"),
    "baseline": lambda graph: [
        (b"".join(baseline.lines()), baseline.cursor, baseline.snapshot.commit_id)
        for baseline in [graph.change_baseline("dev", kind="node")]
    ],
    "verify": lambda graph: graph.verify(deep=False),
    "cleanup": lambda graph: (graph.cleanup(dry_run=True, grace="3d"), repr(graph.cleanup(dry_run=True, keep=2))),
    "optimize": lambda graph: optimize_json(graph.optimize("dev", types=["Knows"])),
    "schema of a snapshot": lambda graph: (graph.snapshot("dev").schema_text(), sorted(graph.snapshot().catalog.nodes)),
    "retry": lambda graph: graph.retry(lambda seen: seen.counts()),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_gives_the_same_here_and_over_http(name: str, graph: Graph, remote: RemoteGraph) -> None:
    assert READS[name](remote) == READS[name](graph)


ERRORS: dict[str, tuple[type[OmnigraphError], Callable[[Any], Any]]] = {
    "syntax": (CompileError, lambda graph: graph.query("query q() { match { $p: Person return { $p } }")),
    "type": (CompileError, lambda graph: graph.query("query ü() { match { $p: Persn } return { $p } }")),
    "parameter": (
        ParameterError,
        lambda graph: graph.query("query q($n: I32) { match { $p: Person {age: $n} } return { $p } }", {"n": "x"}),
    ),
    "branch": (NotFoundError, lambda graph: graph.query(READ_ALL, branch="nowhere")),
    "taken": (AlreadyExistsError, lambda graph: graph.create_branch("dev")),
    "deleted": (NotFoundError, lambda graph: graph.delete_branch("nowhere")),
    "key": (
        KeyConflictError,
        lambda graph: graph.load([{"type": "Person", "data": {"name": "ann"}}], "append"),
    ),
    "violation": (ViolationError, lambda graph: graph.load([{"type": "Person", "data": {"name": "x", "age": "old"}}])),
    "missing end": (
        ViolationError,
        lambda graph: graph.load([{"edge": "Knows", "from": "ann", "to": "nobody", "data": {}}]),
    ),
    "unknown type": (ViolationError, lambda graph: graph.load([{"type": "Persn", "data": {"name": "x"}}])),
    "head": (PreconditionFailed, lambda graph: graph.mutate(AGE, {"age": 3}, if_commit=graph.commit("main~1").id)),
    "range": (BlobRangeError, lambda graph: graph.read_blob("Person", "ann", "photo").read(0, 99_999)),
    "no blob": (NotFoundError, lambda graph: graph.read_blob("Person", "bo", "photo")),
    "cursor": (CursorRejected, lambda graph: graph.changes("x")),
    "moment": (UsageError, lambda graph: graph.commit("main@{5}")),
    "argument": (ArgumentError, lambda graph: graph.query(READ_ALL, brnch="main")),
    "schema": (CompileError, lambda graph: graph.apply_schema("node Person { name: Strng @key }")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_the_same_here_and_over_http(name: str, graph: Graph, remote: RemoteGraph) -> None:
    kind, call = ERRORS[name]
    with pytest.raises(kind) as here:
        call(graph)
    with pytest.raises(kind) as there:
        call(remote)
    assert type(there.value) is type(here.value)
    assert there.value.retryable == here.value.retryable
    if isinstance(here.value, CompileError):
        assert str(there.value) == str(here.value)
    if isinstance(here.value, ViolationError) and isinstance(there.value, ViolationError):
        assert (there.value.total, there.value.counts) == (here.value.total, here.value.counts)


def test_a_mutation_is_one_commit_with_its_message_and_provenance(
    graph: Graph, remote: RemoteGraph, branch: str
) -> None:
    message = "älter\n\n\twith a reason"
    provenance = {"run": "r 1", "Job ID/Ü%": "Ä\n"}
    made = remote.mutate(AGE, {"age": 40}, branch=branch, message=message, provenance=provenance)
    assert made.commit is not None
    assert (made.affected_nodes, made.branch) == (1, branch)
    stored = graph.commit(branch)
    assert commit_json(stored) == commit_json(made.commit)
    assert (stored.message, stored.provenance) == (message, provenance)
    again = remote.mutate(AGE, {"age": 41}, branch=branch, if_commit=stored.id, idempotency_key="once")
    assert remote.mutate(AGE, {"age": 41}, branch=branch, idempotency_key="once").commit == again.commit


PASSING = "query q($x: F64, $t: String, $l: [F64]) { match { $p: Person } return { $x as x, $t as t } limit 1 }"


@pytest.mark.parametrize(
    "params",
    [
        {"x": float("nan"), "t": "", "l": []},
        {"x": 1.0, "t": "\ud800", "l": []},
        {"x": 1.0, "t": "", "l": [1.0, float("inf")]},
        {"x": 1.0, "t": object(), "l": []},
        {"x": 1.0, "t": {"a": {1, 2}}, "l": []},
    ],
)
def test_a_parameter_that_json_does_not_have_is_an_error_that_names_it(
    params: dict[str, Any], graph: Graph, remote: RemoteGraph
) -> None:
    for opened in (graph, remote):
        with pytest.raises(ParameterError, match=r"param '[xtl]"):
            opened.query(PASSING, params)


@pytest.mark.parametrize(
    "options",
    [
        {"provenance": {"run": 5}},
        {"provenance": {5: "run"}},
        {"provenance": {"": "run"}},
        {"provenance": {"\ud800": "x"}},
        {"provenance": {"x": "\ud800"}},
        {"message": "\ud800"},
        {"idempotency_key": "ü"},
        {"idempotency_key": "a\nb"},
        {"idempotency_key": "x" * 257},
    ],
)
def test_options_that_no_header_can_hold_are_refused_without_a_request(
    options: dict[str, Any], graph: Graph, remote: RemoteGraph, branch: str
) -> None:
    before = graph.commit(branch).id
    with pytest.raises(UsageError) as refused:
        remote.mutate(AGE, {"age": 77}, branch=branch, **options)
    assert refused.value.hint
    assert graph.commit(branch).id == before


@pytest.mark.parametrize("name", ["", " ", ".", ".."])
def test_a_name_that_would_be_another_path_is_refused(name: str, remote: RemoteGraph) -> None:
    for call in (remote.delete_branch, remote.invoke, remote.invoke_mutation):
        with pytest.raises(UsageError, match="is not the name of a"):
            call(name)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_no_time_is_no_time_here_and_over_http(timeout: float, graph: Graph, remote: RemoteGraph) -> None:
    with pytest.raises(LimitExceeded):
        remote.query(READ_ALL, timeout=timeout)
    with pytest.raises(UsageError, match="timeout"):
        omnigraph.open(remote.uri, timeout=timeout)
    if timeout <= 0:
        with pytest.raises(LimitExceeded):
            graph.query(READ_ALL, timeout=timeout)
    assert list(remote.commits(limit=-1)) == list(graph.commits(limit=-1)) == []


def test_a_mutation_returns_its_rows(remote: RemoteGraph, branch: str) -> None:
    text = 'query q() { update Person set {age: 7} where name = "bo" returning { name, age } }'
    made = remote.mutate(text, branch=branch)
    assert made.returned is not None
    assert made.returned.to_dicts() == [{"name": "bo", "age": 7}]


@pytest.fixture
def people(tmp_path: Path) -> dict[str, Any]:
    """The same two people in every form that a load takes."""
    rows = [{"name": "Ö\n", "age": 1, "born": date(2000, 2, 3)}, {"name": "yo", "tags": ["x"]}]
    envelopes = [
        {"type": "Person", "data": {"name": "Ö\n", "age": 1, "born": "2000-02-03"}},
        {"type": "Person", "data": {"name": "yo", "tags": ["x"]}},
    ]
    lines = tmp_path / "people.jsonl"
    lines.write_text("".join(json.dumps(item) + "\n" for item in envelopes), encoding="utf-8")
    return {
        "records": envelopes,
        "mapping": {"Person": pa.Table.from_pylist(rows), "Knows": [{"from": "yo", "to": "ann"}]},
        "table": ("Person", pa.Table.from_pylist(rows)),
        "file": lines,
        "frame": ("Person", pa.Table.from_pylist(rows).to_pandas()),
    }


@pytest.mark.parametrize("form", ["records", "mapping", "table", "file", "frame"])
@pytest.mark.parametrize("mode", ["upsert", "merge", "append"])
def test_a_load_is_read_here_and_gives_the_same(
    form: str, mode: str, graph: Graph, remote: RemoteGraph, branch: str, people: dict[str, Any]
) -> None:
    given = people[form]
    type_name, data = given if isinstance(given, tuple) else (None, given)
    graph.create_branch(f"{branch}-here", branch)
    here = graph.load(data, mode, branch=f"{branch}-here", type_name=type_name)
    there = remote.load(data, mode, branch=branch, type_name=type_name, message="people")
    assert (there.nodes, there.edges, there.inserted, there.mode) == (here.nodes, here.edges, here.inserted, here.mode)
    assert there.commit.message == "people"
    if form != "mapping":  # an edge without an id gets one of its own
        assert b"".join(graph.export(branch)) == b"".join(graph.export(f"{branch}-here"))


def test_an_upsert_over_http_keeps_what_its_rows_leave_out(graph: Graph, remote: RemoteGraph, branch: str) -> None:
    remote.load([{"name": "ann", "age": 5}, {"name": "bo", "tags": ["z"]}], type_name="Person", branch=branch)
    people = graph.query("query q() { match { $p: Person } return { $p.name, $p.age, $p.tags } }", branch=branch)
    assert {row["p.name"]: (row["p.age"], row["p.tags"]) for row in people} == {
        "ann": (5, ["a", "b"]),
        "bo": (27, ["z"]),
        "cy": (None, None),
    }
    assert graph.read_blob("Person", "ann", "photo", branch=branch).read() == PHOTO


def test_a_load_makes_its_branch_from_a_base(graph: Graph, remote: RemoteGraph, branch: str) -> None:
    made = remote.load([{"type": "Note", "data": {"text": "x"}}], branch=f"{branch}-new", base="dev")
    assert made.branch_created
    assert graph.counts(f"{branch}-new")["Person"] == graph.counts("dev")["Person"]


def test_a_large_load_is_a_job_of_the_server(live: Live, graph: Graph, branch: str) -> None:
    seen: list[int] = []
    people = [{"name": f"p{number}"} for number in range(50)]
    transport = Transport(RemoteAddress.of(f"{live.address}{BASE}"), None)
    with RemoteGraph(transport, request_bytes_max=100) as remote:
        made = remote.load(people, type_name="Person", branch=branch, progress=seen.append, idempotency_key="large")
        assert (made.inserted, seen[-1], graph.counts(branch)["Person"]) == (50, 50, 53)
        with pytest.raises(KeyConflictError):
            remote.load(people, "append", type_name="Person", branch=branch)


def test_a_preview_is_merged_exactly_and_reverted(graph: Graph, remote: RemoteGraph, branch: str) -> None:
    graph.create_branch(f"{branch}-side", branch)
    graph.mutate(AGE, {"age": 50}, branch=branch)
    graph.mutate(AGE, {"age": 60}, branch=f"{branch}-side")
    with pytest.raises(MergeConflicts) as error:
        remote.merge(f"{branch}-side", branch)
    with pytest.raises(MergeConflicts) as here:
        graph.merge(f"{branch}-side", branch)
    assert error.value.conflicts == here.value.conflicts
    assert error.value.table == here.value.table
    answer = {"type": "Person", "id": "bo", "property": "age", "take": "source"}
    preview = remote.merge_preview(f"{branch}-side", branch, resolutions=[answer])
    assert preview.conflicts == ()
    merged = remote.merge(preview, message="sixty")
    assert merged.commit is not None
    assert merged.outcome.value == "merged"
    with pytest.raises(PreconditionFailed):
        remote.merge(preview)
    undone = remote.revert(merged.commit.id, branch=branch)
    assert undone.reverted == (merged.commit.id,)
    assert graph.query(READ_ALL, branch=branch)[1]["p.age"] == 50


def test_a_schema_is_applied_with_its_steps(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "kb.omni", "node A { name: String @key }", durability="os")
    with running(serving_of(graph)) as live, omnigraph.open(f"{live.address}{BASE}", token=None) as remote:
        made = remote.apply_schema("node A { name: String @key\n  age: I32? }", message="ages")
        assert made.commit is not None
        assert made.commit.message == "ages"
        assert [str(step) for step in made.plan.steps] != []
        assert "age" in remote.catalog().nodes["A"].properties
        assert not remote.apply_schema("node A { name: String @key\n  age: I32? }").applied
        with pytest.raises(MigrationRefused):
            remote.apply_schema("node A { name: String @key\n  age: String? }")


def test_branches_are_created_and_deleted(graph: Graph, remote: RemoteGraph, branch: str) -> None:
    made = remote.create_branch(f"{branch}/x.y", branch)
    assert made in graph.branches()
    remote.delete_branch(made.name)
    assert made not in graph.branches()


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: graph.copy("elsewhere"),
        lambda graph: graph.analyze.pagerank("Knows"),
        lambda graph: graph.query(READ_ALL, engine="spark"),
        lambda graph: graph.query(READ_ALL, actor="ann"),
        lambda graph: graph.load([], reject_to="x"),
        lambda graph: graph.export(dates="iso"),
        lambda graph: graph.create_branch("x", at="main~1"),
        lambda graph: graph.apply_schema("node A { name: String @key }", branch="dev"),
    ],
    ids=["copy", "analyze", "spark", "actor", "reject", "dates", "at", "schema"],
)
def test_what_a_server_cannot_do_says_so(call: Callable[[Any], Any], remote: RemoteGraph) -> None:
    with pytest.raises(RemoteUnsupported, match="not available on a remote graph"):
        call(remote)


def test_every_verb_of_a_graph_is_there_or_refused(remote: RemoteGraph) -> None:
    verbs = [name for name in vars(Graph) if not name.startswith("_") and name not in vars(RemoteGraph)]
    assert len(verbs) > 20
    for name in verbs:
        with pytest.raises(RemoteUnsupported):
            getattr(remote, name)
    assert not hasattr(remote, "_no_such_name")


def test_a_remote_graph_displays_itself_and_survives_pickling(remote: RemoteGraph) -> None:
    assert repr(remote) == f"<RemoteGraph {remote.uri}>"
    assert remote.uri in remote._repr_html_()
    with pickle.loads(pickle.dumps(remote)) as copy:
        assert copy.counts() == remote.counts()


def test_asyncio_awaits_the_same_verbs(graph: Graph, remote: RemoteGraph) -> None:
    async def work() -> tuple[Any, ...]:
        async with omnigraph.aio.open(remote.uri, token=None) as there:
            rows = await there.query(READ_ALL)
            commits = [commit.id async for commit in there.commits("dev")]
            parts = [part async for part in there.export()]
            return rows.to_dicts(), commits, b"".join(parts), await there.schema

    rows, commits, lines, schema = asyncio.run(work())
    assert rows == graph.query(READ_ALL).to_dicts()
    assert commits == [commit.id for commit in graph.commits("dev")]
    assert (lines, schema) == (b"".join(graph.export()), graph.schema)


@pytest.mark.parametrize(
    "uri",
    [
        "https://host",
        "https://host/kb",
        "https://user:secret@host/graphs/kb",
        "https://host/graphs/kb?x=1",
        "http://example.com/graphs/kb",
    ],
)
def test_an_address_that_is_none_is_refused_without_a_request(uri: str) -> None:
    with pytest.raises(UsageError) as error:
        omnigraph.open(uri, token=None)
    assert "secret" not in str(error.value)


def test_options_of_stores_and_servers_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="storage_options has no effect"):
        omnigraph.open("https://host/graphs/kb", storage_options={})
    with pytest.raises(UsageError, match="no address of a server"):
        omnigraph.open(str(tmp_path), token="x")


def test_a_token_is_taken_from_the_caller_or_the_environment(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(serving_of(graph, tokens={"ann": "secret"})) as live:
        uri = f"{live.address}{BASE}"
        with omnigraph.open(uri, token="wrong") as remote, pytest.raises(NotAuthenticated) as error:
            remote.counts()
        assert "wrong" not in str(error.value)
        for token, variable in (("secret", ""), (None, "secret")):
            monkeypatch.setenv("OMNIGRAPH_TOKEN", variable)
            with omnigraph.open(uri, token=token) as remote:
                assert remote.counts() == graph.counts()
