"""The error for collected violations."""

from __future__ import annotations

from omnigraph.errors import ViolationError
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
        text, total=violations.total, samples=violations.samples, counts=counts, hint=_hint(violations)
    )


def _entity(sample: Violation) -> str:
    return str(sample) if sample.entity_id is None else f"{sample.entity_id}: {sample}"


def _hint(violations: Violations) -> str | None:
    """A hint for a file whose first line is not JSON: it is probably the wrong file."""
    first = violations.samples[0]
    if first.code is ViolationCode.MALFORMED and first.place is not None and first.place.line == 1:
        return f'is {first.place.source} a file of JSON lines? A line is like {{"type": "Person", "data": {{...}}}}'
    return None
