"""Golden files: cases with their input and the exact text expected, side by side, readable as documentation.

A file is a list of cases: `=== title`, the input, `---`, the expected text. After a deliberate change run
`python -m tests.unit.query.golden` and review the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.query.rewrite import PASSES
from tests.unit.query.fixture import SEVERAL_ENDS, diagnose, drawn, explained, lowered

DIRECTORY = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Case:
    title: str
    text: str
    expected: str


def cases(name: str) -> list[Case]:
    content = (DIRECTORY / name).read_text(encoding="utf-8")
    found = []
    for part in re.split(r"^=== ", content, flags=re.MULTILINE)[1:]:
        title, rest = part.split("\n", 1)
        text, _, expected = rest.partition("\n---\n")
        found.append(Case(title.strip(), text.strip("\n"), expected.strip("\n")))
    assert len({case.title for case in found}) == len(found), f"two cases of {name} have the same title"
    return found


def shown(diagnostic: Diagnostic) -> str:
    """Everything a diagnostic says: code, the text it points at, message, hint."""
    text = diagnostic.source.text[diagnostic.span.start : diagnostic.span.end]
    pointed = " ".join(text.split())
    lines = [f"{diagnostic.code} at `{pointed}`: {diagnostic.message}"]
    if diagnostic.hint:
        lines.append(f"    hint: {diagnostic.hint}")
    return "\n".join(lines)


def show_diagnostics(text: str) -> str:
    return "\n".join(shown(diagnostic) for diagnostic in diagnose(text))


def show_passes(text: str) -> str:
    """The tree as lowered, and after each pass that changes it."""
    root = lowered(text)
    parts = [f"lowered:\n{drawn(root, 1)}"]
    for run in PASSES:
        changed = run(root)
        parts.append(f"{run.__name__}:" + (" no change" if changed == root else f"\n{drawn(changed, 1)}"))
        root = changed
    return "\n".join(parts)


def show_several_ends(text: str) -> str:
    """The diagnostics of a query over edges of several types, or its plan."""
    found = diagnose(text, SEVERAL_ENDS)
    return "\n".join(map(shown, found)) if found else explained(text, SEVERAL_ENDS)


FILES: dict[str, Callable[[str], str]] = {
    "diagnostics.txt": show_diagnostics,
    "ends.txt": show_several_ends,
    "explain.txt": explained,
    "passes.txt": show_passes,
}


def _write(name: str, show: Callable[[str], str]) -> None:
    updated = [replace(case, expected=show(case.text)) for case in cases(name)]
    blocks = [f"=== {case.title}\n{case.text}\n---\n{case.expected}\n" for case in updated]
    (DIRECTORY / name).write_text("\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    for file, show_case in FILES.items():
        _write(file, show_case)
