"""Stored queries: their catalog, and invocation by name on the road of a read or of a mutation."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.core.actors import Action, Need
from omnigraph.manifest.layout import MAIN
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers import mutations, queries
from omnigraph.server.handlers.commit_headers import IF_COMMIT
from omnigraph.server.handlers.targets import Target, read_main
from omnigraph.server.handlers.whole import check_whole
from omnigraph.server.http.refusals import Refusal, bad_request, not_found
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Lane, Onward, Road
from omnigraph.wire.http.models.queries import InvokeStoredQueryRequest
from omnigraph.wire.http.stored_queries import stored_queries_json, stored_query_json


def catalog(call: Call, _: None) -> Reply:
    """All stored queries of a graph."""
    return json_reply(stored_queries_json(call.served.queries.values()))


def show(call: Call, _: None) -> Reply:
    """One stored query with its text, which may name any type."""
    check_whole(call, "texts of stored queries", MAIN)
    query = call.served.queries.get(call.path["name"])
    if query is None:
        raise missing(call)
    return json_reply(stored_query_json(query))


def invoke_needs(call: Call) -> Iterator[Need]:
    """``invoke_query``, for the query that is named."""
    yield Need(Action.INVOKE_QUERY, query=call.path["name"])


def missing(call: Call) -> Refusal:
    """The answer to a query that does not exist and to one that may not be invoked: the same bytes."""
    return not_found("stored query not found")


def invoke(call: Call, body: InvokeStoredQueryRequest) -> Onward:
    """The road of the query: that of a read, or that of a mutation."""
    query = call.served.queries.get(call.path["name"])
    if query is None:
        raise missing(call)
    is_conditional = IF_COMMIT in call.headers
    if body.expect_mutation is not None and body.expect_mutation != query.is_mutation:
        raise bad_request(f"stored query '{query.name}' is a {'mutation' if query.is_mutation else 'read'}")
    if not query.is_mutation:
        if is_conditional:
            raise bad_request(f"stored query '{query.name}' is a read, which takes no expected head")
        target = Target.of(body.branch, body.snapshot)
        return Onward(
            queries.READ, queries.Read(query.text, query.name, body.params, target, with_entities=body.entities)
        )
    if body.snapshot is not None:
        raise bad_request(f"stored query '{query.name}' is a mutation, which takes no snapshot")
    change = mutations.Change(query.text, query.name, body.params, branch_name(body.branch))
    return Onward(mutations.CONDITIONAL if is_conditional else mutations.MUTATE, change)


CATALOG = Road(Gate(read_main), catalog, Lane.LOOP)
SHOW = Road(Gate(read_main), show)
INVOKE = Road(Gate(invoke_needs, hidden=missing), invoke, Lane.LOOP)
