"""A profile as text: one line per operator, with its remarks below."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.core.profile import OperatorProfile

_UNITS = ("B", "kB", "MB", "GB", "TB")


class Profiled:
    """A result with measured operators: those of a query from the last to the first, those of a write in order."""

    __slots__ = ()
    operators: tuple[OperatorProfile, ...]

    def stats(self) -> str:
        """The measurements as text; empty without ``stats=True``."""
        return profile_text(self.operators)


def profile_text(operators: Sequence[OperatorProfile]) -> str:
    """One line an operator, parts indented below the whole. What was written is shown where something was."""
    wrote = any(item.written for item in operators)
    head = f"{'rows':>12} {'ms':>10} {'requests':>9} {'read':>9}" + (f" {'written':>9}" if wrote else "")
    lines = [f"{head}  operator"]
    for item in operators:
        indent = "  " * item.depth
        written = f" {_size(item.written):>9}" if wrote else ""
        figures = f"{item.rows:>12,} {item.seconds * 1000:>10.2f} {item.requests:>9,} {_size(item.bytes):>9}{written}"
        lines.append(f"{figures}  {indent}{item.operator}")
        lines += [f"{'':>{len(head)}}  {indent}  ({remark})" for remark in item.remarks]
    return "\n".join(lines)


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"
