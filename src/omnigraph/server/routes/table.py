"""The whole route table, and its OpenAPI document."""

from __future__ import annotations

import json
from functools import cache
from typing import Final

import omnigraph
from omnigraph.server.call import Call
from omnigraph.server.http.replies import Reply
from omnigraph.server.roads import OPEN, Lane, Road
from omnigraph.server.routes.additions.explore import EXPLORE
from omnigraph.server.routes.additions.jobs import JOBS
from omnigraph.server.routes.additions.loads import TABLE_LOADS
from omnigraph.server.routes.additions.merging import MERGING
from omnigraph.server.routes.additions.reviews import REVIEWS
from omnigraph.server.routes.additions.texts import TEXTS
from omnigraph.server.routes.reads import READS
from omnigraph.server.routes.rows import Route, completed
from omnigraph.server.routes.writes import WRITES
from omnigraph.wire.http.openapi import JSON, Operation, Parameter, openapi
from omnigraph.wire.http.openapi import Reply as Documented

REFERENCE: Final = "0.10"
"""The release whose operations ``?only=`` selects."""

ADDITIONS: Final = (*EXPLORE, *TEXTS, *MERGING, *REVIEWS, *TABLE_LOADS, *JOBS)
"""The rows that Omnigraph 0.10 does not have."""

DOCUMENTED: Final = tuple(completed(route) for route in (*READS, *WRITES, *ADDITIONS))


@cache
def document(*, secured: bool, only_reference: bool) -> bytes:
    """The OpenAPI document as JSON."""
    operations = [route.operation for route in DOCUMENTED]
    found = openapi(operations, version=omnigraph.__version__, secured=secured, only_reference=only_reference)
    return json.dumps(found, ensure_ascii=False).encode()


def _show(call: Call, _: None) -> Reply:
    secured = not call.serving.authenticator.is_open
    body = document(secured=secured, only_reference=call.query.get("only") == REFERENCE)
    return Reply(200, body, JSON)


_DOCUMENT: Final = Route(
    Operation(
        "GET",
        "/openapi.json",
        "openapi",
        "health",
        "This document.",
        {200: Documented("The document.", {JSON: None})},
        (Parameter("only", str, "`0.10` leaves out what Omnigraph 0.10 does not have."),),
        is_secured=False,
    ),
    Road(OPEN, _show, Lane.LOOP),
)

ROUTES: Final = (*DOCUMENTED, _DOCUMENT)
