"""Queries that start at nodes with given keys, and their rows as the compiled form gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.engine.graph import Graph
from omnigraph.engine.query.result import QueryResult
from omnigraph.exec.budget import Budget
from omnigraph.exec.cells.values import GivenUp
from omnigraph.exec.compiled.query import bind, compile_query
from omnigraph.exec.shape.result_rows import ValueRows
from omnigraph.query.ir import QueryIR
from omnigraph.query.params import bind_values
from tests.features.exec import generate_exact as exact
from tests.features.exec.generate import Query, Variable, Writer, given, key_value, number_text
from tests.features.exec.people import NOW_MS


@dataclass
class AnchoredWriter(Writer):
    """Writes queries whose nodes are looked up by their keys, mostly of nodes that exist."""

    is_compiled: bool = True

    def inline(self, variable: Variable) -> str:
        key = variable.type.key
        if key is None or self.rng.random() < 0.05:
            return super().inline(variable)
        value = key_value(key.scalar, self.rng.choice([0, 1, 1, 2, 2, 3, 20]))
        if self.rng.random() < 0.5:
            return f" {{ key: {self._literal(key.scalar, value)} }}"
        self.names += 1
        name = f"k{self.names}"
        self.declared.append(f"${name}: {exact.type_name(key.scalar)}")
        self.params[name], self.values[name] = given(key.scalar, value), value
        return f" {{ key: ${name} }}"

    def _literal(self, scalar: str, value: Any) -> str:
        match scalar:
            case "String":
                return f'"{value}"'
            case "Bool":
                return str(value).lower()
            case "Date":
                return f'date("{given(scalar, value)}")'
            case _:
                return exact.literal(scalar, value) if scalar in exact.EXACT else number_text(value)


def compiled_result(graph: Graph, where: dict[str, str], query: Query) -> QueryResult | None:
    """The result of the compiled form alone; None if there is none, or it gives up."""
    snapshot = graph.snapshot(**where)
    plan = graph._compiler.plan(snapshot, query.text, None)
    assert isinstance(plan, QueryIR)
    compiled = compile_query(plan, snapshot.catalog)
    if compiled is None:
        return None
    view = graph._view(snapshot)
    # What the general operators would have loaded.
    for key in compiled.needs.finders:
        view.table(key).find_ids(["none"])
    for way in compiled.needs.ways:
        view.topology(way.edge, None, way.pair)
    bound = bind(compiled.needs, view)
    program = None if bound is None else compiled.make(bound)
    assert program is not None
    try:
        rows = program(compiled.call(bind_values(plan.parameters, query.params), NOW_MS, Budget()))
    except GivenUp:
        return None
    return QueryResult(plan.name, ValueRows(compiled.form, rows), None, snapshot.commit_id)
