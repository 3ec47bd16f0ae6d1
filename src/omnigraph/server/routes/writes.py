"""Rows of the operations of Omnigraph 0.10 that write."""

from __future__ import annotations

from typing import Final

from omnigraph.server.handlers import branches, graphs, loads, mutations, stored_queries
from omnigraph.server.handlers.commit_headers import (
    IF_COMMIT,
    IF_COMMIT_PARAMETER,
    WRITE_HEADERS,
    WRITE_PARAMETERS,
    refuse_condition,
    require_expected_head,
)
from omnigraph.server.http.bodies import JsonBody, OptionalJsonBody, RawBody
from omnigraph.server.http.formats import ACCEPT, ACCEPT_PARAMETER
from omnigraph.server.limits import LOAD_BYTES_MAX
from omnigraph.server.routes.rows import GRAPH, LOAD_PARAMETERS, Route, rejections, replies
from omnigraph.wire.http.arrow import ARROW
from omnigraph.wire.http.models.branches import (
    BranchCreateOutput,
    BranchCreateRequest,
    BranchDeleteOutput,
    BranchMergeOutput,
    BranchMergeRequest,
)
from omnigraph.wire.http.models.graphs import SchemaApplyOutput, SchemaApplyRequest
from omnigraph.wire.http.models.loads import GraphBatchLoadOutput, IngestOutput, IngestRequest
from omnigraph.wire.http.models.mutations import ChangeOutput, ChangeRequest
from omnigraph.wire.http.models.queries import InvokeStoredQueryRequest, InvokeStoredQueryResponse
from omnigraph.wire.http.openapi import JSON, Body, Operation, Parameter, Reply

_NDJSON: Final = "application/x-ndjson"
_WRITE: Final = (400, 401, 403, 409, 413, 424, 429, 503)
_CONDITIONAL: Final = (400, 401, 403, 409, 412, 413, 424, 429, 503)
_STORED: Final = (400, 401, 403, 404, 409, 413, 424, 429, 500, 503)
_CHANGED: Final = Reply("What was changed.", {JSON: ChangeOutput})
_LOADED: Final = Reply("What was loaded.", {JSON: IngestOutput})
_MUTATE_BODY: Final = Body({JSON: ChangeRequest})
_LOAD_BODY: Final = Body({JSON: IngestRequest})

MUTATIONS: Final = (
    Route(
        Operation(
            "POST",
            f"{GRAPH}/mutate",
            "cluster_mutate",
            "mutations",
            "Run a mutation as one commit.",
            {**replies(_CHANGED, *_WRITE), **rejections(415, 422)},
            WRITE_PARAMETERS,
            _MUTATE_BODY,
        ),
        mutations.MUTATE,
        JsonBody(ChangeRequest),
        meaning=mutations.Change.of,
        headers=(IF_COMMIT, *WRITE_HEADERS),
    ),
    Route(
        Operation(
            "POST",
            f"{GRAPH}/mutate/if-graph-commit",
            "cluster_mutate_if_graph_commit",
            "mutations",
            "Run a mutation if the head of the branch is the expected commit.",
            {**replies(_CHANGED, *_CONDITIONAL), **rejections(415, 422)},
            (IF_COMMIT_PARAMETER, *WRITE_PARAMETERS),
            _MUTATE_BODY,
        ),
        mutations.CONDITIONAL,
        JsonBody(ChangeRequest),
        precheck=require_expected_head,
        meaning=mutations.Change.of,
        headers=(IF_COMMIT, *WRITE_HEADERS),
    ),
    Route(
        Operation(
            "POST",
            f"{GRAPH}/change",
            "cluster_change",
            "mutations",
            "Run a mutation, under its earlier name.",
            {**replies(_CHANGED, *_WRITE), **rejections(415, 422)},
            WRITE_PARAMETERS,
            _MUTATE_BODY,
            deprecated=True,
        ),
        mutations.MUTATE,
        JsonBody(ChangeRequest),
        meaning=mutations.Change.of,
        successor="mutate",
        headers=(IF_COMMIT, *WRITE_HEADERS),
    ),
)

STORED: Final = (
    Route(
        Operation(
            "POST",
            f"{GRAPH}/queries/{{name}}",
            "cluster_invoke_query",
            "queries",
            "Run a stored query.",
            replies(Reply("The rows, or what was changed.", {JSON: InvokeStoredQueryResponse, ARROW: None}), *_STORED),
            (*WRITE_PARAMETERS, ACCEPT_PARAMETER),
            Body({JSON: InvokeStoredQueryRequest}, required=False),
        ),
        stored_queries.INVOKE,
        OptionalJsonBody(InvokeStoredQueryRequest),
        precheck=refuse_condition("/queries/{name}/if-graph-commit"),
        headers=(IF_COMMIT, *WRITE_HEADERS, ACCEPT),
    ),
    Route(
        Operation(
            "POST",
            f"{GRAPH}/queries/{{name}}/if-graph-commit",
            "cluster_invoke_query_if_graph_commit",
            "queries",
            "Run a stored mutation if the head of the branch is the expected commit.",
            replies(_CHANGED, *_STORED, 412),
            (IF_COMMIT_PARAMETER, *WRITE_PARAMETERS),
            Body({JSON: InvokeStoredQueryRequest}, required=False),
        ),
        stored_queries.INVOKE,
        OptionalJsonBody(InvokeStoredQueryRequest),
        precheck=require_expected_head,
        headers=(IF_COMMIT, *WRITE_HEADERS),
    ),
)

SCHEMA: Final = (
    Route(
        Operation(
            "POST",
            f"{GRAPH}/schema/apply",
            "cluster_applySchema",
            "mutations",
            "Migrate the graph to a schema.",
            {
                **replies(Reply("The steps.", {JSON: SchemaApplyOutput}), 400, 401, 403, 409, 429),
                **rejections(413, 415, 422),
            },
            WRITE_PARAMETERS,
            Body({JSON: SchemaApplyRequest}),
        ),
        graphs.APPLY,
        JsonBody(SchemaApplyRequest),
        headers=WRITE_HEADERS,
    ),
)

LOADS: Final = (
    Route(
        Operation(
            "POST",
            f"{GRAPH}/load",
            "cluster_load",
            "mutations",
            "Load JSON as one commit.",
            {**replies(_LOADED, *_WRITE), **rejections(415, 422)},
            WRITE_PARAMETERS,
            _LOAD_BODY,
        ),
        loads.INGEST,
        JsonBody(IngestRequest, LOAD_BYTES_MAX),
        meaning=loads.Ingest.of,
        headers=WRITE_HEADERS,
    ),
    Route(
        Operation(
            "POST",
            f"{GRAPH}/load/ndjson",
            "cluster_loadNdjson",
            "mutations",
            "Load strict JSON lines as one commit.",
            replies(
                Reply("What was loaded.", {JSON: GraphBatchLoadOutput}),
                *(400, 401, 403, 404, 409, 413, 415, 424, 429, 503),
            ),
            (*LOAD_PARAMETERS, *WRITE_PARAMETERS),
            Body({_NDJSON: None}),
        ),
        loads.LINES,
        RawBody((_NDJSON,), LOAD_BYTES_MAX, is_text=True),
        is_body_last=True,
        headers=WRITE_HEADERS,
    ),
    Route(
        Operation(
            "POST",
            f"{GRAPH}/ingest",
            "cluster_ingest",
            "mutations",
            "Load JSON, under its earlier name.",
            {**replies(_LOADED, *_WRITE), **rejections(415, 422)},
            WRITE_PARAMETERS,
            _LOAD_BODY,
            deprecated=True,
        ),
        loads.INGEST,
        JsonBody(IngestRequest, LOAD_BYTES_MAX),
        meaning=loads.Ingest.of,
        successor="load",
        headers=WRITE_HEADERS,
    ),
)

BRANCHES: Final = (
    Route(
        Operation(
            "POST",
            f"{GRAPH}/branches",
            "cluster_createBranch",
            "branches",
            "Create a branch.",
            {
                **replies(Reply("The branch.", {JSON: BranchCreateOutput}), 400, 401, 403, 409, 429, 503),
                **rejections(413, 415, 422),
            },
            body=Body({JSON: BranchCreateRequest}),
        ),
        branches.CREATE,
        JsonBody(BranchCreateRequest),
        meaning=branches.NewBranch.of,
    ),
    Route(
        Operation(
            "DELETE",
            f"{GRAPH}/branches/{{branch}}",
            "cluster_deleteBranch",
            "branches",
            "Delete a branch.",
            replies(Reply("The branch.", {JSON: BranchDeleteOutput}), 401, 403, 404, 429, 503),
            (Parameter("branch", str, "The name, percent-encoded.", where="path"),),
        ),
        branches.DELETE,
    ),
    Route(
        Operation(
            "POST",
            f"{GRAPH}/branches/merge",
            "cluster_mergeBranches",
            "branches",
            "Merge a branch into another one.",
            {**replies(Reply("The merge.", {JSON: BranchMergeOutput}), *_WRITE), **rejections(415, 422)},
            WRITE_PARAMETERS,
            Body({JSON: BranchMergeRequest}),
        ),
        branches.MERGE,
        JsonBody(BranchMergeRequest),
        meaning=branches.Merge.of,
        headers=WRITE_HEADERS,
    ),
)

WRITES: Final = (*MUTATIONS, *STORED, *SCHEMA, *LOADS, *BRANCHES)
