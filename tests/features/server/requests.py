"""A valid request for every operation of the table, and the needs that a policy must be asked for."""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pyarrow as pa

from omnigraph import Graph
from omnigraph.core.actors import Action, Need
from omnigraph.wire.http.arrow import ARROW
from tests.features.server.live import BASE, READ_ALL

ADD = "query add($name: String, $age: I32?) { insert Person {name: $name, age: $age} }"
MISSING_COMMIT = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@dataclass(frozen=True)
class Sample:
    """A request about a branch, and its needs, in the order in which they are asked."""

    method: str
    path: str
    needs: Callable[[str], list[Need]]
    options: Callable[[str, Graph], dict[str, Any]] = field(default=lambda branch, graph: {})
    writes: bool = False
    """It changes the graph, or needs the branch `spare` as it was."""
    is_hidden: bool = False
    """A denial looks like something that does not exist."""
    of_server: bool = False
    is_missing: bool = False
    """It asks for something that does not exist."""

    def send(self, client: httpx2.Client, branch: str, graph: Graph) -> httpx2.Response:
        options = self.options(branch, graph)
        path = self.path.format(branch=branch, commit=graph.snapshot(branch).commit_id)
        response = client.request(self.method, path, **options)
        if response.status_code == 202:
            settled(client, response)
        return response


def settled(client: httpx2.Client, response: httpx2.Response) -> dict[str, Any]:
    """The job of an answer, when it has ended."""
    while True:
        job: dict[str, Any] = client.get(response.headers["location"]).json()
        if job["state"] in ("succeeded", "failed"):
            return job
        time.sleep(0.01)


def _read(branch: str) -> list[Need]:
    return [Need(Action.READ, branch)]


def _anywhere(branch: str) -> list[Need]:
    return [Need(Action.READ)]


def _on_main(branch: str) -> list[Need]:
    return [Need(Action.READ, "main")]


def _change(branch: str) -> list[Need]:
    return [Need(Action.CHANGE, branch)]


def _export(branch: str) -> list[Need]:
    return [Need(Action.EXPORT, branch)]


def _admin(branch: str) -> list[Need]:
    return [Need(Action.ADMIN)]


def _nothing(branch: str) -> list[Need]:
    return []


def arrow_stream(table: pa.Table, **options: Any) -> bytes:
    """A table as an Arrow stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _invoke(name: str, inner: Callable[[str], list[Need]]) -> Callable[[str], list[Need]]:
    return lambda branch: [Need(Action.INVOKE_QUERY, query=name), *inner(branch)]


def _json(**body: Any) -> Callable[[str, Graph], dict[str, Any]]:
    return lambda branch, graph: {"json": {**body, "branch": branch}}


def _branch(branch: str, graph: Graph) -> dict[str, Any]:
    return {"params": {"branch": branch}}


def _conditional(**body: Any) -> Callable[[str, Graph], dict[str, Any]]:
    return lambda branch, graph: {
        "json": {**body, "branch": branch},
        "headers": {"omnigraph-if-graph-commit": graph.snapshot(branch).commit_id},
    }


def heads(branch: str, graph: Graph) -> dict[str, str]:
    """The heads that a review is about."""
    return {
        "source_commit_id": graph.snapshot(branch).commit_id,
        "target_commit_id": graph.snapshot().commit_id,
    }


_BLOB = {"entity": "node", "type": "Person", "id": "ann", "property": "photo"}
_EVE = {"name": "eve"}
_LINES = {"content": b'{"type":"Person","data":{"name":"eve"}}', "headers": {"content-type": "application/x-ndjson"}}

SAMPLES: dict[str, Sample] = {
    "listGraphs": Sample("GET", "/graphs", lambda branch: [Need(Action.GRAPH_LIST)], of_server=True),
    "cluster_getSnapshot": Sample("GET", f"{BASE}/snapshot", _read, _branch),
    "cluster_query": Sample("POST", f"{BASE}/query", _read, _json(query=READ_ALL)),
    "cluster_read": Sample("POST", f"{BASE}/read", _read, _json(query_source=READ_ALL)),
    "cluster_mutate": Sample("POST", f"{BASE}/mutate", _change, _json(query=ADD, params=_EVE), writes=True),
    "cluster_mutate_if_graph_commit": Sample(
        "POST", f"{BASE}/mutate/if-graph-commit", _change, _conditional(query=ADD, params=_EVE), writes=True
    ),
    "cluster_change": Sample("POST", f"{BASE}/change", _change, _json(query=ADD, params=_EVE), writes=True),
    "cluster_list_queries": Sample("GET", f"{BASE}/queries", _on_main),
    "cluster_invoke_query": Sample(
        "POST", f"{BASE}/queries/everyone", _invoke("everyone", _read), _json(), is_hidden=True
    ),
    "cluster_invoke_query_if_graph_commit": Sample(
        "POST",
        f"{BASE}/queries/add/if-graph-commit",
        _invoke("add", _change),
        _conditional(params=_EVE),
        writes=True,
        is_hidden=True,
    ),
    "cluster_getSchema": Sample("GET", f"{BASE}/schema", _anywhere),
    "cluster_applySchema": Sample(
        "POST",
        f"{BASE}/schema/apply",
        lambda branch: [Need(Action.SCHEMA_APPLY, None, "main")],
        lambda branch, graph: {"json": {"schema_source": graph.schema_text()}},
        writes=True,
    ),
    "cluster_load": Sample("POST", f"{BASE}/load", _change, _json(data=""), writes=True),
    "cluster_loadNdjson": Sample(
        "POST",
        f"{BASE}/load/ndjson",
        _change,
        lambda branch, graph: {**_LINES, "params": {"branch": branch}},
        writes=True,
    ),
    "cluster_ingest": Sample("POST", f"{BASE}/ingest", _change, _json(data=""), writes=True),
    "cluster_export": Sample("POST", f"{BASE}/export", _export, _json()),
    "cluster_getBlob": Sample(
        "GET", f"{BASE}/blob", _read, lambda branch, graph: {"params": {**_BLOB, "branch": branch}}
    ),
    "cluster_headBlob": Sample(
        "HEAD", f"{BASE}/blob", _read, lambda branch, graph: {"params": {**_BLOB, "branch": branch}}
    ),
    "cluster_listBranches": Sample("GET", f"{BASE}/branches", _anywhere),
    "cluster_createBranch": Sample(
        "POST",
        f"{BASE}/branches",
        lambda branch: [Need(Action.BRANCH_CREATE, branch, "new")],
        lambda branch, graph: {"json": {"name": "new", "from": branch}},
        writes=True,
    ),
    "cluster_deleteBranch": Sample(
        "DELETE", f"{BASE}/branches/spare", lambda branch: [Need(Action.BRANCH_DELETE, None, "spare")], writes=True
    ),
    "cluster_mergeBranches": Sample(
        "POST",
        f"{BASE}/branches/merge",
        lambda branch: [Need(Action.BRANCH_MERGE, "spare", branch)],
        lambda branch, graph: {"json": {"source": "spare", "target": branch}},
        writes=True,
    ),
    "cluster_listCommits": Sample("GET", f"{BASE}/commits", _read, _branch),
    "cluster_getCommit": Sample("GET", f"{BASE}/commits/{{commit}}", _anywhere),
    "cluster_getCommitChanges": Sample("GET", f"{BASE}/commits/{{commit}}/changes", _read, is_hidden=True),
    "cluster_pollChanges": Sample("GET", f"{BASE}/changes", _read, _branch),
    "cluster_captureChangeBaseline": Sample("POST", f"{BASE}/changes/baseline", _export, _json()),
    "getCatalog": Sample("GET", f"{BASE}/catalog", _read, _branch),
    "getEntity": Sample("GET", f"{BASE}/entities/node/Person/ann", _read, _branch),
    "listEntities": Sample("POST", f"{BASE}/entities", _read, _json(type="Person")),
    "getNeighbours": Sample("POST", f"{BASE}/neighbours", _read, _json(nodes={"Person": ["ann"]})),
    "explain": Sample("POST", f"{BASE}/explain", _read, _json(query=READ_ALL)),
    "check": Sample("POST", f"{BASE}/check", _read, _json(query=READ_ALL, position=10)),
    "sql": Sample("POST", f"{BASE}/sql", _read, _json(sql="select count(*) as n from Person")),
    "diff": Sample(
        "GET",
        f"{BASE}/diff",
        lambda branch: [Need(Action.READ, "main"), Need(Action.READ, branch)],
        lambda branch, graph: {"params": {"from": "main", "to": branch}},
    ),
    "previewMerge": Sample(
        "POST",
        f"{BASE}/merge/preview",
        lambda branch: [Need(Action.READ, "spare"), Need(Action.READ, branch)],
        lambda branch, graph: {"json": {"source": "spare", "target": branch}},
        writes=True,
    ),
    "merge": Sample(
        "POST",
        f"{BASE}/merge",
        lambda branch: [Need(Action.BRANCH_MERGE, "spare", branch)],
        lambda branch, graph: {"json": {"source": "spare", "target": branch}},
        writes=True,
    ),
    "previewRevert": Sample("POST", f"{BASE}/revert/preview", _read, _json(commits="HEAD")),
    "revert": Sample(
        "POST",
        f"{BASE}/revert",
        lambda branch: [Need(Action.CHANGE, "spare")],
        lambda branch, graph: {"json": {"commits": "HEAD", "branch": "spare"}},
        writes=True,
    ),
    "loadArrow": Sample(
        "POST",
        f"{BASE}/load/arrow",
        _change,
        lambda branch, graph: {
            "content": arrow_stream(pa.table({"name": ["eve"]})),
            "headers": {"content-type": ARROW},
            "params": {"branch": branch, "type": "Person"},
        },
        writes=True,
    ),
    "loadAsJob": Sample(
        "POST",
        f"{BASE}/jobs/load",
        _change,
        lambda branch, graph: {**_LINES, "params": {"branch": branch}},
        writes=True,
    ),
    "listJobs": Sample("GET", f"{BASE}/jobs", _nothing),
    "getJob": Sample("GET", f"{BASE}/jobs/missing", _nothing, is_missing=True),
    "optimize": Sample("POST", f"{BASE}/maintenance/optimize", _admin, writes=True),
    "cleanup": Sample("POST", f"{BASE}/maintenance/cleanup", _admin, lambda branch, graph: {"json": {"dry_run": True}}),
    "verify": Sample("POST", f"{BASE}/maintenance/verify", _admin, lambda branch, graph: {"json": {"deep": False}}),
    "doctor": Sample("GET", f"{BASE}/maintenance/doctor", _admin, _branch),
    "getQuery": Sample("GET", f"{BASE}/queries/everyone", _on_main),
    "getEntityHistory": Sample("GET", f"{BASE}/entities/node/Person/ann/history", _read, _branch),
    "drawDiff": Sample(
        "GET",
        f"{BASE}/diff/picture",
        lambda branch: [Need(Action.READ, "main"), Need(Action.READ, branch)],
        lambda branch, graph: {"params": {"from": "main", "to": branch}},
    ),
    "listReviews": Sample("GET", f"{BASE}/reviews", _anywhere),
    "saveReview": Sample(
        "POST",
        f"{BASE}/reviews",
        lambda branch: [Need(Action.READ, branch), Need(Action.READ, "main"), Need(Action.CHANGE, branch)],
        lambda branch, graph: {"json": {"source": branch, **heads(branch, graph)}},
        writes=True,
    ),
    "getReview": Sample("GET", f"{BASE}/reviews/{MISSING_COMMIT}", _nothing, is_missing=True),
    "changeReview": Sample(
        "POST",
        f"{BASE}/reviews/{MISSING_COMMIT}",
        _nothing,
        lambda branch, graph: {"json": {"version": 1}},
        is_missing=True,
    ),
    "commentReview": Sample(
        "POST",
        f"{BASE}/reviews/{MISSING_COMMIT}/comments",
        _nothing,
        lambda branch, graph: {"json": {"text": "good", **heads(branch, graph)}},
        is_missing=True,
    ),
    "getSample": Sample("GET", f"{BASE}/sample", _read, _branch),
}
