"""Reads: ad-hoc queries at the head of a branch or at a commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.engine.query.at_once import is_small, query_at_once
from omnigraph.engine.query.choice import QueryLimits
from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.query.row_entities import RowEntities, TracedRun
from omnigraph.server.call import Call
from omnigraph.server.handlers.targets import Target, body_names_commit, body_target_needs, check_body_target
from omnigraph.server.http.formats import arrow_reply, wants_arrow
from omnigraph.server.http.refusals import bad_request
from omnigraph.server.http.replies import Reply, chunked_reply
from omnigraph.server.query_texts import Declared, declared
from omnigraph.server.roads import Gate, Road
from omnigraph.wire.http.models.queries import QueryRequest, ReadRequest
from omnigraph.wire.http.openapi import JSON
from omnigraph.wire.http.read_output import read_output_chunks


@dataclass(frozen=True, slots=True)
class Read:
    """A query to run. ``is_legacy`` is the form of earlier releases."""

    text: str
    name: str | None
    params: Any
    target: Target
    is_legacy: bool = False
    with_entities: bool = False

    @classmethod
    def of_query(cls, body: QueryRequest) -> Read:
        target = Target.of(body.branch, body.snapshot)
        return cls(body.query, body.name, body.params, target, with_entities=body.entities)

    @classmethod
    def of_read(cls, body: ReadRequest) -> Read:
        target = Target.of(body.branch, body.snapshot)
        return cls(body.query_source, body.query_name, body.params, target, is_legacy=True)


def answer(call: Call, read: Read) -> Reply:
    """The rows of a query."""
    is_arrow = wants_arrow(call.headers) and not read.is_legacy
    if is_arrow and read.with_entities:
        raise bad_request("entities are members of JSON: an Arrow stream has none")
    result, entities = _traced(call, read) if read.with_entities else (run(call, read), None)
    if is_arrow:
        return arrow_reply(result.schema, result.batches(), result.commit_id)
    return rows_reply(result, read.target, with_commit=not read.is_legacy, entities=entities)


def answer_at_once(call: Call, read: Read) -> Reply | None:
    """The rows of a query that starts from keys and finds everything in memory; None if it has to be run."""
    target = read.target
    if target.branch is None or read.with_entities or wants_arrow(call.headers):
        return None
    query = _declared(read)
    result = query_at_once(call.graph, read.text, query.known(read.params), name=query.name, branch=target.branch)
    return None if result is None else rows_reply(result, target, with_commit=not read.is_legacy)


def is_small_read(call: Call, read: Read, compiles: bool) -> bool | None:
    """True if a run of the query in this process would let it be answered immediately from then on."""
    target = read.target
    if target.branch is None or read.with_entities or wants_arrow(call.headers):
        return False
    return is_small(call.graph, read.text, name=_declared(read).name, branch=target.branch, compiles=compiles)


def rows_reply(
    result: QueryResult, target: Target, *, with_commit: bool = True, entities: RowEntities | None = None
) -> Reply:
    """Rows as JSON."""
    chunks = read_output_chunks(
        result, branch=target.branch, snapshot=target.snapshot, with_commit=with_commit, entities=entities
    )
    return chunked_reply(chunks, JSON)


def run(call: Call, read: Read) -> QueryResult:
    """Run a query within the limits of the server, until its caller goes away."""
    query = _declared(read)
    return call.graph.query(
        read.text,
        query.known(read.params),
        name=query.name,
        branch=read.target.branch,
        at=read.target.at,
        timeout=call.serving.query_seconds,
        cancel=call.cancel,
    )


def _traced(call: Call, read: Read) -> tuple[QueryResult, RowEntities]:
    """The same, with the entities that the rows came from."""
    query = _declared(read)
    traced = TracedRun(QueryLimits(call.serving.query_seconds, None, call.cancel), read.target.branch)
    return call.graph.query_with(
        traced,
        read.text,
        query.known(read.params),
        name=query.name,
        branch=read.target.branch,
        at=read.target.at,
    )


def _declared(read: Read) -> Declared:
    query = declared(read.text, read.name)
    if query.is_mutation and not read.is_legacy:
        raise bad_request(f"query '{query.name}' is a mutation: send it to POST /mutate")
    return query


READ = Road(
    Gate(body_target_needs, is_blocking=body_names_commit),
    answer,
    check=check_body_target,
    in_reader=True,
    at_once=answer_at_once,
    is_small=is_small_read,
)
