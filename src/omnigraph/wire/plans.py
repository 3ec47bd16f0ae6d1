"""Query plans as JSON: the operator tree, and the tables of a graph that it would use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.query.explain import describe, explain
from omnigraph.query.ir import MutationIR, Operator, QueryIR
from omnigraph.query.rewrite.tree import inputs

if TYPE_CHECKING:
    from omnigraph.engine.query.explanation import Explanation, TableFacts


def plan_json(plan: QueryIR | MutationIR, explanation: Explanation | None = None) -> dict[str, Any]:
    """A plan with its parameters. With an explanation of the same plan on a graph, also the facts of its tables."""
    form: dict[str, Any] = {
        "name": plan.name,
        "kind": "read" if isinstance(plan, QueryIR) else "mutation",
        "parameters": [{"name": item.name, "type": item.spelled_type} for item in plan.parameters],
    }
    if isinstance(plan, QueryIR):
        form |= {"columns": [column.name for column in plan.columns], "plan": _tree(plan.root)}
    else:
        form["statements"] = [
            {"operator": type(item).__name__, "type_name": item.type_name} for item in plan.entity_statements
        ]
    form["text"] = explain(plan)
    return form if explanation is None else {**form, "tables": [_table_json(item) for item in explanation.tables]}


def _tree(operator: Operator) -> dict[str, Any]:
    return {
        "operator": type(operator).__name__,
        "description": describe(operator),
        "inputs": [_tree(below) for below in inputs(operator)],
    }


def _table_json(facts: TableFacts) -> dict[str, Any]:
    return {
        "table": facts.table,
        "rows": facts.rows,
        "deleted_rows": facts.deleted_rows,
        "fragments": facts.fragments,
        "indexes": [{"index": name, "coverage": share} for name, share in facts.indexes],
        "traversal": facts.traversal,
    }
