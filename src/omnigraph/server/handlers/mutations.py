"""Mutations, with and without an expected head."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.core.actors import Action, Need
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers.commit_headers import IF_COMMIT, expected_head, refuse_condition, write_options
from omnigraph.server.http.refusals import bad_request
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.query_texts import declared
from omnigraph.server.roads import Gate, Lane, Road
from omnigraph.wire.http.models.mutations import ChangeRequest
from omnigraph.wire.writes import mutation_json


@dataclass(frozen=True, slots=True)
class Change:
    """A mutation to run."""

    text: str
    name: str | None
    params: Any
    branch: str

    @classmethod
    def of(cls, body: ChangeRequest) -> Change:
        return cls(body.query, body.name, body.params, branch_name(body.branch))


def needs(call: Call) -> Iterator[Need]:
    """``change`` on the branch."""
    yield Need(Action.CHANGE, call.body.branch)


def size(change: Change) -> int:
    """The bytes of the text and of the parameters."""
    params = 0 if change.params is None else len(json.dumps(change.params))
    return len(change.text.encode()) + params


def answer(call: Call, change: Change) -> Reply:
    """Run a mutation; with the header of conditional routes, only on the head that it names."""
    query = declared(change.text, change.name)
    if not query.is_mutation:
        raise bad_request(f"query '{query.name}' is a read: send it to POST /query")
    result = call.graph.mutate(
        change.text,
        query.known(change.params),
        name=query.name,
        branch=change.branch,
        if_commit=expected_head(call) if IF_COMMIT in call.headers else None,
        **write_options(call),
    )
    # A repeated write returns the commit of the first one, which does not know the name of its query.
    return json_reply(mutation_json(replace(result, query_name=query.name, actor=call.actor_id)))


CONDITIONAL = Road(Gate(needs), answer, Lane.WRITE, size=size)
MUTATE = replace(CONDITIONAL, check=refuse_condition("/mutate/if-graph-commit"))
