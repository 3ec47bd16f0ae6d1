"""Collected violations as the error that callers see."""

from __future__ import annotations

from omnigraph.errors import ViolationError
from omnigraph.rows.violations import Violations

SHOWN_MAX = 10


def violation_error(violations: Violations) -> ViolationError:
    """How many there are, and the first of them."""
    shown = [str(sample) for sample in violations.samples[:SHOWN_MAX]]
    more = violations.total - len(shown)
    if violations.total == 1:
        text = shown[0]
    else:
        lines = "".join(f"\n  - {line}" for line in shown)
        text = f"{violations.total} violations; nothing was written{lines}" + (
            f"\n  ... and {more} more" if more > 0 else ""
        )
    counts = {"/".join(str(part) for part in kind if part): count for kind, count in violations.counts.items()}
    return ViolationError(text, total=violations.total, samples=violations.samples, counts=counts)
