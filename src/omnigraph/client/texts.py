"""Query and schema texts that are compiled here: names of queries, catalogs, plans of explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from omnigraph.client.forms import read_facts
from omnigraph.core.ports import UlidSource
from omnigraph.engine.query.explanation import Explanation
from omnigraph.lang.declarations.order import declared_order
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.query.compile import compile_text, select_query
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept
from omnigraph.schema.migration import MigrationPlan
from omnigraph.wire.schemas import step_json
from omnigraph.write.schema.apply import planned


@lru_cache(maxsize=32)
def catalog_of(text: str) -> Catalog:
    """The catalog of a schema text. Stable ids are those of another graph: only their owner knows them."""
    schema = accept(parse_schema(Source(text, "<schema>")), domain=UlidSource().new_id())
    return Catalog(schema, declared_order(text))


def query_name(text: str | None, name: str | None) -> str:
    """The name of the query of a text that a server has run."""
    if text is None or name is not None:
        return name or ""
    return select_query(parse_queries(Source(text, "<query>")), None).name.text


def read_explanation(form: Mapping[str, Any], text: str, name: str | None, catalog: Catalog) -> Explanation:
    """An explanation of a server. Its operators are compiled here, under the same schema."""
    tables = tuple(map(read_facts, form["tables"]))
    return Explanation(form["text"], tables, compile_text(text, catalog, name=name))


def plan_to(before: str, after: Source, *, allow_data_loss: bool) -> MigrationPlan:
    """The migration from one schema text to another."""
    return planned(catalog_of(before).schema, after, allow_data_loss=allow_data_loss)[1]


def plan_between(
    before: str, after: str, *, allow_data_loss: bool, shown: Sequence[Mapping[str, Any]]
) -> MigrationPlan:
    """The migration that a server has shown as JSON; without steps if another schema came in between."""
    plan = plan_to(before, Source(after, "<schema>"), allow_data_loss=allow_data_loss)
    return plan if [step_json(step) for step in plan.steps] == list(shown) else MigrationPlan()
