"""Rows of the operations on query texts, of the texts of stored queries, and of SQL."""

from __future__ import annotations

from typing import Final

from omnigraph.server.handlers import stored_queries, texts
from omnigraph.server.http.bodies import JsonBody
from omnigraph.server.http.formats import ACCEPT, ACCEPT_PARAMETER
from omnigraph.server.routes.rows import Route, addition
from omnigraph.wire.http.arrow import ARROW
from omnigraph.wire.http.models.queries import ReadOutput, StoredQueryOutput
from omnigraph.wire.http.models.texts import CheckOutput, CheckRequest, ExplainOutput, ExplainRequest, SqlRequest
from omnigraph.wire.http.openapi import JSON, Body, Reply

TEXTS: Final = (
    Route(
        addition(
            "GET",
            "/queries/{name}",
            "getQuery",
            "queries",
            "A stored query with its text.",
            Reply("The query.", {JSON: StoredQueryOutput}),
        ),
        stored_queries.SHOW,
        is_strict=True,
    ),
    Route(
        addition(
            "POST",
            "/explain",
            "explain",
            "queries",
            "The plan of a query or mutation, with facts about its tables.",
            Reply("The plan.", {JSON: ExplainOutput}),
            body=Body({JSON: ExplainRequest}),
        ),
        texts.EXPLAIN,
        JsonBody(ExplainRequest, is_enveloped=True),
        meaning=texts.Explained.of,
    ),
    Route(
        addition(
            "POST",
            "/check",
            "check",
            "queries",
            "The diagnostics of a query text, and completions at a position.",
            Reply("The findings.", {JSON: CheckOutput}),
            body=Body({JSON: CheckRequest}),
        ),
        texts.CHECK,
        JsonBody(CheckRequest, is_enveloped=True),
        meaning=texts.Checked.of,
    ),
    Route(
        addition(
            "POST",
            "/sql",
            "sql",
            "queries",
            "Run one SQL select statement; tables are named like types.",
            Reply("The rows.", {JSON: ReadOutput, ARROW: None}),
            (ACCEPT_PARAMETER,),
            Body({JSON: SqlRequest}),
        ),
        texts.SQL,
        JsonBody(SqlRequest, is_enveloped=True),
        meaning=texts.Sql.of,
        headers=(ACCEPT,),
    ),
)
