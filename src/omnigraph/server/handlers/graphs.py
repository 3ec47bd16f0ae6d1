"""The server itself and its graphs: health, list of graphs, tables of a branch, schemas."""

from __future__ import annotations

from collections.abc import Iterator

import omnigraph
from omnigraph.core.actors import Action, Need
from omnigraph.errors import ExternalTypeError
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.manifest.layout import FORMAT, MAIN
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept
from omnigraph.schema.ir import SchemaIR, external_types
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers.commit_headers import write_options
from omnigraph.server.handlers.targets import read_anywhere, read_named_branch
from omnigraph.server.http.caching import snapshot_headers, unmodified
from omnigraph.server.http.refusals import Refusal
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import OPEN, Gate, Lane, Road
from omnigraph.server.serving.stored_queries import check_all
from omnigraph.wire.graphs import graph_list_json, health_json, snapshot_json
from omnigraph.wire.http.models.graphs import SchemaApplyRequest
from omnigraph.wire.schemas import schema_result_json, schema_text_json


def health(call: Call, _: None) -> Reply:
    """Liveness, version and storage format."""
    return json_reply(health_json(omnigraph.__version__, FORMAT))


def list_needs(call: Call) -> Iterator[Need]:
    """``graph_list``, which a bundle for the server allows."""
    yield Need(Action.GRAPH_LIST)


def list_graphs(call: Call, _: None) -> Reply:
    """The graphs that are served, by id."""
    return json_reply(graph_list_json({graph.id: graph.uri for graph in call.serving.graphs.values()}))


def snapshot(call: Call, _: None) -> Reply:
    """The tables of a branch at its head."""
    found = call.graph.snapshot(branch_name(call.query.get("branch")))
    headers = snapshot_headers(found, is_fixed=False)
    return unmodified(call.headers, headers) or json_reply(snapshot_json(found), headers=headers)


def schema(call: Call, _: None) -> Reply:
    """The schema of a branch as it was written."""
    found = call.graph.snapshot(branch_name(call.query.get("branch")))
    headers = snapshot_headers(found, is_fixed=False)
    return unmodified(call.headers, headers) or json_reply(schema_text_json(found.schema_text()), headers=headers)


def apply_needs(call: Call) -> Iterator[Need]:
    """``schema_apply`` targeting ``main``."""
    yield Need(Action.SCHEMA_APPLY, target_branch=MAIN)


def refuse_declared(call: Call) -> None:
    """Refuse to change the schema of a graph that a cluster declares."""
    if call.served.is_declared:
        raise Refusal(
            409,
            "the schema of a graph that belongs to a cluster is changed by applying the cluster's configuration",
            "conflict",
            "declared_by_cluster",
        )


def apply(call: Call, body: SchemaApplyRequest) -> Reply:
    """Migrate ``main`` to a schema, if every stored query still compiles under it."""
    accepted = call.served.trusted.catalog(MAIN).schema
    wanted = accept(parse_schema(Source(body.schema_source, "<schema>")), domain=accepted.domain, previous=accepted)
    _refuse_new_sources(accepted, wanted)
    check_all(call.served.queries.values(), Catalog(wanted))
    result = call.graph.apply_schema(body.schema_source, allow_data_loss=body.allow_data_loss, **write_options(call))
    return json_reply(schema_result_json(result))


def _refuse_new_sources(accepted: SchemaIR, wanted: SchemaIR) -> None:
    """Refuse addresses of external types that the graph does not have: the server would read them with its rights."""
    known = {external.address for _, external in external_types(accepted)}
    for type_, external in external_types(wanted):
        if external.address not in known:
            raise ExternalTypeError(
                f"{type_.name} is external, and a server takes no address of a table from a request",
                hint="apply the schema at the graph's own address; later requests may change the rest of the type",
                type=type_.name,
            )


def schema_size(body: SchemaApplyRequest) -> int:
    """The bytes of the schema text."""
    return len(body.schema_source.encode())


HEALTH = Road(OPEN, health, Lane.LOOP)
LIST = Road(Gate(list_needs, of_server=True), list_graphs, Lane.LOOP)
SNAPSHOT = Road(Gate(read_named_branch), snapshot)
SCHEMA = Road(Gate(read_anywhere), schema)
APPLY = Road(Gate(apply_needs), apply, Lane.WRITE, size=schema_size, after_gate=refuse_declared)
