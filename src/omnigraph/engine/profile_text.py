"""A profile for people: one line an operator, and below it what the operator says of itself."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.exec.profile import OperatorProfile

_HEAD = f"{'rows':>12} {'ms':>10} {'requests':>9} {'read':>9}  operator"
_UNITS = ("B", "kB", "MB", "GB", "TB")


def profile_text(operators: Iterable[OperatorProfile]) -> str:
    """The operators from the last to the first, inputs indented below those who read them."""
    lines = [_HEAD]
    for item in operators:
        indent = "  " * item.depth
        figures = f"{item.rows:>12,} {item.seconds * 1000:>10.2f} {item.requests:>9,} {_size(item.bytes):>9}"
        lines.append(f"{figures}  {indent}{item.operator}")
        lines += [f"{'':>43}  {indent}  ({remark})" for remark in item.remarks]
    return "\n".join(lines)


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"
