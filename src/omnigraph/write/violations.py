"""The error for collected violations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from omnigraph.errors import Hint, ViolationError
from omnigraph.rows.violations import Violation, ViolationCode, Violations

SHOWN_MAX = 10


def violation_error(violations: Violations, *, stored: bool = False) -> ViolationError:
    """The error with the number of violations and the first ones. ``stored`` entities are shown by id, not by line."""
    shown = [_entity(sample) if stored else str(sample) for sample in violations.samples[:SHOWN_MAX]]
    more = violations.total - len(shown)
    if violations.total == 1:
        text = shown[0]
    else:
        lines = "".join(f"\n  - {line}" for line in shown)
        text = f"{violations.total} violations; nothing was written{lines}" + (
            f"\n  ... and {more} more" if more > 0 else ""
        )
    counts = {"/".join(str(part) for part in kind if part): count for kind, count in violations.counts.items()}
    return ViolationError(
        text, total=violations.total, samples=violations.samples, counts=counts, hint=_hint(violations, stored=stored)
    )


def _entity(sample: Violation) -> str:
    return str(sample) if sample.entity_id is None else f"{sample.entity_id}: {sample}"


_SCHEMA = Hint(
    "print(graph.schema_text()) shows the types and their properties",
    "omnigraph schema show prints the types and their properties",
)
_VALUE = "correct the value, or change the schema"
_OWN = "give every entity its own"
_NEXT_STEPS: Final[Mapping[ViolationCode, str | Hint]] = {
    ViolationCode.MALFORMED: 'a record is like {"type": "Person", "data": {...}}',
    ViolationCode.UNKNOWN_TYPE: _SCHEMA,
    ViolationCode.UNKNOWN_PROPERTY: _SCHEMA,
    ViolationCode.REQUIRED: "give it a value, or declare the property nullable: `String?`",
    ViolationCode.TYPE: _VALUE,
    ViolationCode.ENUM: _VALUE,
    ViolationCode.RANGE: _VALUE,
    ViolationCode.CHECK: _VALUE,
    ViolationCode.KEY: _VALUE,
    ViolationCode.UNIQUE: f"{_OWN} value, or change the schema",
    ViolationCode.DUPLICATE_ID: f"{_OWN} id",
    ViolationCode.NOT_FOUND: "insert the entity first, or correct the id",
    ViolationCode.ENDPOINT: "insert the node first or in the same write, or correct the end of the edge",
    ViolationCode.CARDINALITY: "delete an edge first, or change the @card of the type",
}


_ENDS: Final = frozenset({"from", "to", "src", "dst"})


def _hint(violations: Violations, *, stored: bool) -> str | Hint:
    """The advice of a reader, or the next step for the first violation."""
    if violations.advice is not None:
        return violations.advice
    if stored:
        return "correct the stored entities first, or choose a schema that they fit"
    first = violations.samples[0]
    # A file whose first line is not JSON is probably the wrong file.
    if first.code is ViolationCode.MALFORMED and first.place is not None and first.place.line == 1:
        if first.place.source == "<records>":
            return (
                'a record is like {"type": "Person", "data": {...}}; plain records of one type need type_name="Person"'
            )
        if first.place.is_unnamed:
            return f'a {first.place.source} is like {{"type": "Person", "data": {{...}}}}'
        return f'is {first.place.source} a file of JSON lines? A line is like {{"type": "Person", "data": {{...}}}}'
    if first.code is ViolationCode.REQUIRED and first.property in _ENDS:
        return "give every edge both of its ends: the ids of nodes, as `from` and `to`"
    return _NEXT_STEPS[first.code]
