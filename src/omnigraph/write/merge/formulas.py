"""Expressions of resolutions: a value computed from base, source and target of one property."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InputError, UsageError
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher
from omnigraph.history.conflicts import Resolution, Resolutions, Take
from omnigraph.lang.source import Source
from omnigraph.query import expressions as ir
from omnigraph.query.standalone.formula import OWNER, compile_formula
from omnigraph.query.variables import walk
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import PropertyType

VALUES = ("base", "source", "target")
"""Parameters of an expression."""

FormulaKey = tuple[str, str, str]
"""Table, property, and text of the expression."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A compiled expression. It is pickled to Spark tasks."""

    expression: ir.Expr

    @property
    def reads_base(self) -> bool:
        return any(isinstance(part, ir.Property) and part.name == "base" for part in walk(self.expression))

    def value(self, given: Mapping[str, pa.Array]) -> pa.Array | None:
        """The value for one entity, in the type of the property; None if it does not fit or is not finite."""
        frame = Frame(1, {}, _values={(OWNER, name): value for name, value in given.items()})
        try:
            value = Evaluator(Searcher(), Budget()).column(self.expression, frame).cast(given["target"].type)
        except (InputError, pa.ArrowInvalid):
            return None
        is_float = pa.types.is_floating(value.type)
        return None if is_float and not pc.all(pc.is_finite(value), min_count=0).as_py() else value


def read_formulas(
    catalog: Catalog, resolutions: Resolutions, entities: Mapping[tuple[str, str | None], Iterable[Entity]]
) -> dict[FormulaKey, Formula]:
    """Compile the expressions of all resolutions; raises UsageError or CompileError.

    ``entities`` are the types by type name and property name.
    """
    formulas: dict[FormulaKey, Formula] = {}
    for resolution in resolutions.given:
        if resolution.take is Take.EXPRESSION:
            name, text = _named(resolution), str(resolution.value)
            for entity in entities[str(resolution.type_name), name]:
                declared = entity.properties[name].type
                given = dict.fromkeys(VALUES, _nullable(declared))
                source = Source(text, f"<expression for {entity.name}.{name}>")
                compiled = compile_formula(source, catalog, given, declared)
                formulas[entity.table_key, name, text] = Formula(compiled)
    return formulas


def _named(resolution: Resolution) -> str:
    if resolution.type_name is None or resolution.property in (None, "src", "dst"):
        raise UsageError(
            "a resolution with an expression needs a type and a property",
            hint='for example {"type": "Person", "property": "age", "expression": "$source + $target - $base"}',
        )
    return str(resolution.property)


def _nullable(type_: PropertyType) -> PropertyType:
    return replace(type_, nullable=True)
