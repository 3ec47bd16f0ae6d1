"""Reads: ad-hoc queries at the head of a branch or at a commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.engine.query.result import QueryResult
from omnigraph.server.call import Call
from omnigraph.server.handlers.targets import Target, body_names_commit, body_target_needs, check_body_target
from omnigraph.server.http.refusals import bad_request
from omnigraph.server.http.replies import Reply, chunked_reply
from omnigraph.server.query_texts import declared
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

    @classmethod
    def of_query(cls, body: QueryRequest) -> Read:
        return cls(body.query, body.name, body.params, Target.of(body.branch, body.snapshot))

    @classmethod
    def of_read(cls, body: ReadRequest) -> Read:
        target = Target.of(body.branch, body.snapshot)
        return cls(body.query_source, body.query_name, body.params, target, is_legacy=True)


def answer(call: Call, read: Read) -> Reply:
    """The rows of a query."""
    result = run(call, read)
    chunks = read_output_chunks(
        result, branch=read.target.branch, snapshot=read.target.snapshot, with_commit=not read.is_legacy
    )
    return chunked_reply(chunks, JSON)


def run(call: Call, read: Read) -> QueryResult:
    """Run a query within the limits of the server, until its caller goes away."""
    query = declared(read.text, read.name)
    if query.is_mutation and not read.is_legacy:
        raise bad_request(f"query '{query.name}' is a mutation: send it to POST /mutate")
    return call.graph.query(
        read.text,
        query.known(read.params),
        name=query.name,
        branch=read.target.branch,
        at=read.target.at,
        timeout=call.serving.query_seconds,
        cancel=call.cancel,
    )


READ = Road(Gate(body_target_needs, is_blocking=body_names_commit), answer, check=check_body_target)
