"""Rows of the operations of Omnigraph 0.10 that read."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from omnigraph.server.handlers import blobs, branches, changes, commits, exports, graphs, queries, stored_queries
from omnigraph.server.http.bodies import JsonBody
from omnigraph.server.http.caching import IF_NONE_MATCH, IF_NONE_MATCH_PARAMETER
from omnigraph.server.http.formats import ACCEPT, ACCEPT_PARAMETER
from omnigraph.server.routes.rows import BRANCH, FILTERS, GRAPH, NOT_MODIFIED, SNAPSHOT, Route, rejections, replies
from omnigraph.wire.http.arrow import ARROW
from omnigraph.wire.http.models.branches import BranchListOutput
from omnigraph.wire.http.models.changes import (
    ChangeBaselineRecord,
    ChangeBaselineRequest,
    ChangeFeedOutput,
    CommitChangesOutput,
    ExportRequest,
)
from omnigraph.wire.http.models.commits import CommitListOutput, CommitOutput
from omnigraph.wire.http.models.graphs import (
    BlobEntityKind,
    GraphListResponse,
    HealthOutput,
    SchemaOutput,
    SnapshotOutput,
)
from omnigraph.wire.http.models.queries import (
    LegacyReadOutput,
    QueriesCatalogOutput,
    QueryRequest,
    ReadOutput,
    ReadRequest,
)
from omnigraph.wire.http.openapi import JSON, Body, Operation, Parameter, Reply

_NDJSON: Final = "application/x-ndjson"
_JSON_BODY: Final = rejections(413, 415, 422)
_BAD_QUERY: Final = rejections(400)

SERVER: Final = (
    Route(
        Operation(
            "GET",
            "/healthz",
            "health",
            "health",
            "Health of the server.",
            {200: Reply("The server runs.", {JSON: HealthOutput})},
            is_secured=False,
        ),
        graphs.HEALTH,
    ),
    Route(
        Operation(
            "GET",
            "/graphs",
            "listGraphs",
            "management",
            "The graphs of the server.",
            replies(Reply("The graphs, by id.", {JSON: GraphListResponse}), 401, 403, 405),
        ),
        graphs.LIST,
    ),
)

STATE: Final = (
    Route(
        Operation(
            "GET",
            f"{GRAPH}/snapshot",
            "cluster_getSnapshot",
            "snapshots",
            "The tables of a branch at its head.",
            {**replies(Reply("The tables.", {JSON: SnapshotOutput}), 401, 403), **_BAD_QUERY, 304: NOT_MODIFIED},
            (BRANCH, IF_NONE_MATCH_PARAMETER),
        ),
        graphs.SNAPSHOT,
        headers=(IF_NONE_MATCH,),
    ),
    Route(
        Operation(
            "GET",
            f"{GRAPH}/schema",
            "cluster_getSchema",
            "schema",
            "The schema of the graph.",
            {**replies(Reply("The text of the schema.", {JSON: SchemaOutput}), 401, 403), 304: NOT_MODIFIED},
            (replace(BRANCH, is_addition=True), IF_NONE_MATCH_PARAMETER),
        ),
        graphs.SCHEMA,
        headers=(IF_NONE_MATCH,),
    ),
    Route(
        Operation(
            "GET",
            f"{GRAPH}/branches",
            "cluster_listBranches",
            "branches",
            "The branches of the graph.",
            replies(Reply("The names, sorted.", {JSON: BranchListOutput}), 401, 403),
            (Parameter("against", str, "A branch to count the commits ahead of and behind.", is_addition=True),),
        ),
        branches.LIST,
    ),
    Route(
        Operation(
            "GET",
            f"{GRAPH}/commits",
            "cluster_listCommits",
            "commits",
            "The commits of a branch, newest first.",
            {**replies(Reply("The commits.", {JSON: CommitListOutput}), 401, 403), **_BAD_QUERY},
            (BRANCH,),
        ),
        commits.LIST,
    ),
    Route(
        Operation(
            "GET",
            f"{GRAPH}/commits/{{commit_id}}",
            "cluster_getCommit",
            "commits",
            "One commit.",
            replies(Reply("The commit.", {JSON: CommitOutput}), 401, 403, 404),
        ),
        commits.SHOW,
    ),
)

QUERIES: Final = (
    Route(
        Operation(
            "POST",
            f"{GRAPH}/query",
            "cluster_query",
            "queries",
            "Run a read.",
            {**replies(Reply("The rows.", {JSON: ReadOutput, ARROW: None}), 400, 401, 403), **_JSON_BODY},
            (ACCEPT_PARAMETER,),
            Body({JSON: QueryRequest}),
        ),
        queries.READ,
        JsonBody(QueryRequest),
        meaning=queries.Read.of_query,
        headers=(ACCEPT,),
    ),
    Route(
        Operation(
            "POST",
            f"{GRAPH}/read",
            "cluster_read",
            "queries",
            "Run a read, with the names of earlier releases.",
            {**replies(Reply("The rows.", {JSON: LegacyReadOutput}), 400, 401, 403), **_JSON_BODY},
            body=Body({JSON: ReadRequest}),
            deprecated=True,
        ),
        queries.READ,
        JsonBody(ReadRequest),
        meaning=queries.Read.of_read,
        successor="query",
    ),
    Route(
        Operation(
            "GET",
            f"{GRAPH}/queries",
            "cluster_list_queries",
            "queries",
            "The stored queries of the graph.",
            replies(Reply("The catalog, by name.", {JSON: QueriesCatalogOutput}), 401, 403),
        ),
        stored_queries.CATALOG,
    ),
    Route(
        Operation(
            "POST",
            f"{GRAPH}/export",
            "cluster_export",
            "queries",
            "All entities of a branch as JSON lines.",
            replies(Reply("The entities.", {_NDJSON: None, ARROW: None}), 400, 401, 403, 404, 409, 413, 415, 503),
            (ACCEPT_PARAMETER,),
            Body({JSON: ExportRequest}),
        ),
        exports.EXPORT,
        JsonBody(ExportRequest, is_enveloped=True),
        meaning=exports.Export.of,
        headers=(ACCEPT,),
    ),
)

_BLOB_HEADERS: Final = {
    "Accept-Ranges": "`bytes`.",
    "Content-Length": "Bytes of the body.",
    "ETag": "A strong entity tag.",
    "Omnigraph-Snapshot-Id": "The commit that the blob was read at.",
}
_BLOB_ERRORS: Final = (400, 401, 403, 404, 412, 500)
_BLOB_PARAMETERS: Final = (
    Parameter("entity", BlobEntityKind, "Kind of the entity.", required=True),
    Parameter("type", str, "Type of the entity.", required=True),
    Parameter("id", str, "Id of the entity.", required=True),
    Parameter("property", str, "The property that holds the blob.", required=True),
    BRANCH,
    SNAPSHOT,
    *(
        Parameter(name, str, "As in RFC 9110.", where="header", is_addition=True)
        for name in ("If-Match", "If-None-Match")
    ),
)
_LOCATION: Final = Reply("The blob is an external object.", headers={"Location": "Its address."})
_UNCHANGED: Final = Reply("The client has these bytes already.", headers=_BLOB_HEADERS)


def _blob_replies(*, with_body: bool) -> dict[int, Reply]:
    content = {"application/octet-stream": None} if with_body else {}
    found = replies(Reply("The blob.", content, _BLOB_HEADERS), *_BLOB_ERRORS)
    found |= {302: _LOCATION, 304: _UNCHANGED}
    if not with_body:
        return {status: Reply(reply.description, headers=reply.headers) for status, reply in found.items()}
    part = {**_BLOB_HEADERS, "Content-Range": "The range of the body."}
    outside = replies(found[200], 416)[416]
    found[206] = Reply("A range of the blob.", content, part)
    found[416] = Reply(outside.description, outside.content, {"Content-Range": "`bytes */` and the length."})
    return found


BLOBS: Final = (
    Route(
        Operation(
            "GET",
            f"{GRAPH}/blob",
            "cluster_getBlob",
            "blobs",
            "The bytes of a blob, whole or in one range.",
            _blob_replies(with_body=True),
            (
                *_BLOB_PARAMETERS,
                *(
                    Parameter(name, str, "As in RFC 9110.", where="header", is_addition=True)
                    for name in ("If-Range", "Range")
                ),
            ),
        ),
        blobs.GET,
        is_strict=True,
        headers=blobs.CONDITIONS,
    ),
    Route(
        Operation(
            "HEAD",
            f"{GRAPH}/blob",
            "cluster_headBlob",
            "blobs",
            "The headers of a blob.",
            _blob_replies(with_body=False),
            _BLOB_PARAMETERS,
        ),
        blobs.HEAD,
        is_strict=True,
        headers=blobs.CONDITIONS,
    ),
)

_PAGE_TOKEN: Final = Parameter("page_token", str, "The token of the page before.")
_LIMIT: Final = Parameter("limit", int, "Changes on the page. [default: 1000]")

CHANGES: Final = (
    Route(
        Operation(
            "GET",
            f"{GRAPH}/commits/{{commit_id}}/changes",
            "cluster_getCommitChanges",
            "changes",
            "The changes of one commit, page by page.",
            replies(
                Reply("A page.", {JSON: CommitChangesOutput}), *(400, 401, 404, 409, 410, 413, 500, 503), changes=True
            ),
            (_PAGE_TOKEN, _LIMIT, *FILTERS),
        ),
        changes.OF_COMMIT,
        is_strict=True,
    ),
    Route(
        Operation(
            "GET",
            f"{GRAPH}/changes",
            "cluster_pollChanges",
            "changes",
            "The change feed of a branch, page by page.",
            replies(
                Reply("A page.", {JSON: ChangeFeedOutput}), *(400, 401, 403, 404, 409, 410, 413, 500, 503), changes=True
            ),
            (
                BRANCH,
                Parameter("cursor", str, "The cursor of an earlier page."),
                Parameter("start", str, "`now`, `beginning` or `after:` and a commit. [default: now]"),
                _PAGE_TOKEN,
                _LIMIT,
                *FILTERS,
            ),
        ),
        changes.POLL,
        is_strict=True,
    ),
    Route(
        Operation(
            "POST",
            f"{GRAPH}/changes/baseline",
            "cluster_captureChangeBaseline",
            "changes",
            "All entities of a branch, and the cursor that its feed continues from.",
            {
                **replies(
                    Reply("The entities; the last line is the record below.", {_NDJSON: ChangeBaselineRecord}),
                    *(400, 401, 403, 404, 413, 500, 503),
                    changes=True,
                ),
                **rejections(415, 422),
            },
            body=Body({JSON: ChangeBaselineRequest}),
        ),
        exports.BASELINE,
        JsonBody(ChangeBaselineRequest),
        meaning=exports.Baseline.of,
    ),
)

READS: Final = (*SERVER, *STATE, *QUERIES, *BLOBS, *CHANGES)
