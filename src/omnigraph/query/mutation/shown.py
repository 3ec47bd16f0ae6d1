"""Texts of mutations that show entities to their caller, by a pattern or by ``returning``: a policy asks."""

from __future__ import annotations

from omnigraph.lang.gq_ast import ForEach, Matched, MutationBody, Query
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source


def shows_entities(text: str) -> bool:
    """True if a mutation of the text reads entities for its caller. A text without these words is not parsed."""
    if "returning" not in text and "match" not in text:
        return False
    return any(_shows(query) for query in parse_queries(Source(text)).file.queries)


def _shows(query: Query) -> bool:
    if not isinstance(query.body, MutationBody):
        return False
    for statement in query.body.statements:
        inner = statement.statements if isinstance(statement, Matched | ForEach) else (statement,)
        if isinstance(statement, Matched) or any(item.returning for item in inner):
            return True
    return False
