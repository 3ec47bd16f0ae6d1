"""Bodies of mutations."""

from __future__ import annotations

from typing import Any, Final

from pydantic import AliasChoices, Field, model_validator

from omnigraph.wire.http.models.base import Count, Form, Request, added
from omnigraph.wire.http.models.commits import CommitOutput

_EARLIER: Final = {"query": "query_source", "name": "query_name"}


class ChangeRequest(Request):
    """A mutation. ``query_source`` and ``query_name`` are accepted as the names of earlier releases."""

    query: str = Field(validation_alias=AliasChoices("query", _EARLIER["query"]))
    name: str | None = Field(None, validation_alias=AliasChoices("name", _EARLIER["name"]))
    params: Any = None
    branch: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_of_each(cls, given: Any) -> Any:
        for name in ("query", "name"):
            if isinstance(given, dict) and name in given and _EARLIER[name] in given:
                raise ValueError(f"duplicate field `{name}`")
        return given


class ChangeOutput(Form):
    """A mutation that was run; ``commit`` is null if nothing matched. ``rows`` are those of ``returning``."""

    branch: str
    query_name: str
    affected_nodes: Count
    affected_edges: Count
    actor_id: str | None = None
    commit: CommitOutput | None = None
    columns: list[str] | None = added()
    rows: list[dict[str, Any]] | None = added()
