"""Resources: parts of the graph that a client reads by address, such as the schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from omnigraph.errors import NotFoundError
from omnigraph.mcp import models, reading
from omnigraph.mcp.answers import Answer
from omnigraph.mcp.budget import brief, compact, fit, shorten, squeeze
from omnigraph.mcp.session import Session
from omnigraph.mcp.stored import is_offered
from omnigraph.wire.commits import commit_json
from omnigraph.wire.http.stored_queries import parameter_json

SCHEME: Final = "omnigraph://"
RESOURCE_TOKENS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Resource:
    """A fixed address, or a template with one variable part."""

    address: str
    name: str
    description: str
    media_type: str = "application/json"

    @property
    def is_template(self) -> bool:
        """True for a template."""
        return "{" in self.address


RESOURCES: Final = (
    Resource(f"{SCHEME}schema", "schema", "The schema of the graph, in the language .pg.", "text/plain"),
    Resource(f"{SCHEME}branches", "branches", "The branches and their heads."),
    Resource(f"{SCHEME}queries", "queries", "The stored queries and their parameters."),
    Resource(f"{SCHEME}type/{{name}}", "type", "One type with all of its properties."),
    Resource(f"{SCHEME}commit/{{id}}", "commit", "One commit: actor, message and counts of changes."),
)


def read(session: Session, address: str) -> tuple[str, str]:
    """The text of a resource and its media type; raises NotFoundError."""
    kind, _, rest = address.removeprefix(SCHEME).partition("/") if address.startswith(SCHEME) else ("", "", "")
    name = unquote(rest)
    match kind:
        case "schema" if not rest:
            return session.graph.schema_text(session.settings.branch), "text/plain"
        case "branches" if not rest:
            return _json(_listed("branches", [{"name": i.name, "head": i.head} for i in session.graph.branches()]))
        case "queries" if not rest:
            return _json(_listed("queries", _queries(session)))
        case "type" if name:
            return _json(reading.describe_graph(session, models.Describe(type=name)))
        case "commit" if name:
            return _json(Answer(squeeze(shorten(commit_json(session.graph.commit(name))), RESOURCE_TOKENS)))
    raise NotFoundError(
        f"there is no resource {brief(address, 200, 0)!r}", hint="list the resources and their templates"
    )


def _listed(name: str, items: list[dict[str, object]]) -> Answer:
    kept = fit([shorten(item) for item in items], RESOURCE_TOKENS)
    return Answer({name: kept.items}, None, [f"{kept.left_out} more are not shown"] if kept.left_out else [])


def _queries(session: Session) -> list[dict[str, object]]:
    return [
        {
            "name": query.name,
            "description": query.description,
            "parameters": [parameter_json(parameter) for parameter in query.parameters],
        }
        for query in session.queries.values()
        if is_offered(session, query)
    ]


def _json(answer: Answer) -> tuple[str, str]:
    return compact(answer.structured()), "application/json"
