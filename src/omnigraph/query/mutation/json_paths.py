"""Assignments to parts of JSON values: ``set { meta.address.city: "Oslo" }``.

All paths of a property become one value: the stored one with every part replaced. It reads only the entity itself, so
an update that loses a race is applied to the newer value, and concurrent updates of other parts are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.json_values.texts import Step, path_text
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.ir import TARGET, AssignmentIR
from omnigraph.query.mutation.own_values import OwnValues
from omnigraph.query.types.calls import described, is_node
from omnigraph.query.types.literals import JSON, as_json
from omnigraph.query.values import check_array

Path = tuple[Step, ...]


class JsonPaths:
    """The parts that one statement assigns, by property."""

    def __init__(self, own: OwnValues, *, is_new: bool) -> None:
        self._own = own
        self._is_new = is_new
        self.paths: dict[str, dict[Path, ir.Expr]] = {}

    def add(self, assignment: ast.Assignment) -> None:
        """Check one assignment; reports T11 and T13."""
        name, context = assignment.property, self._own.context
        declared = self._own.entity.properties.get(name.text)
        if declared is None:
            self._own.unknown_property(name)
            return
        if not declared.type.is_json:
            message = f"`{name.text}` is {declared.type}, and only a Json value has parts"
            context.error("T11", message, assignment.span)
            return
        if self._is_new:
            hint = f"assign the whole value: `{name.text}: ...`"
            context.error("T11", f"`{name.text}` has no parts yet: the entity is inserted here", assignment.span, hint)
            return
        known = self.paths.setdefault(name.text, {})
        if any(_overlap(path, assignment.path) for path in known):
            message = f"`{name.text}.{path_text(assignment.path)}` is assigned twice"
            context.error("T13", message, assignment.span)
            return
        value = self._value(assignment.value)
        if value is not None:
            known[assignment.path] = value

    def _value(self, node: ast.Expr) -> ir.Expr | None:
        if isinstance(node, ast.Literal) and node.kind is ast.LiteralKind.NULL:
            return ir.Constant(None, JSON)
        if isinstance(node, ast.ListLiteral) and all(isinstance(item, ast.Literal) for item in node.items):
            return check_array(self._own.context, node)
        value = self._own.value(node)
        if value is None:
            return None
        if is_node(value) or value.type.is_vector:
            self._own.context.error("T7", f"{described(value)} is no part of a Json value", node.span)
            return None
        return as_json(value)

    def assignments(self) -> Iterator[AssignmentIR]:
        """One assignment per property, with all of its parts."""
        for name, parts in self.paths.items():
            type_ = self._own.entity.properties[name].type
            value: ir.Expr = ir.Property(TARGET, name, type_)
            for path, part in parts.items():
                steps = ir.Constant(path_text(path), ir.TEXT)
                value = ir.Call(ScalarFunction.JSON_SET, (value, steps, part), type_)
            yield AssignmentIR(name, value, type_)


def _overlap(left: Path, right: Path) -> bool:
    """True if one path leads to the other, or both are the same."""
    return left[: len(right)] == right[: len(left)]
