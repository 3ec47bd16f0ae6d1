"""Counts of the sweeps: cells by place, fault and writer, and how many of them broke the promise.

A cell is one run of one writer with one fault at one position, judged. Counts are kept by process; with
`--counts FILE` a run of a part leaves them behind as JSON, which `docs/dev/reliability.md` is written from.
"""

from __future__ import annotations

import errno
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.support.faults.fault import (
    DelayAt,
    DropAt,
    FailAt,
    FailFrom,
    FileFault,
    KillAt,
    PartialWriteAt,
    RequestFault,
    RespondAt,
)


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """What cells are counted by."""

    place: str
    writer: str
    fault: str


def describe(fault: FileFault | RequestFault) -> str:
    """The kind of a fault, without its position. Kills begin with "kill", everything else is an error."""
    match fault:
        case KillAt(_, after):
            return f"kill {'after' if after else 'before'}"
        case PartialWriteAt(_, kill):
            return "kill in a write" if kill else "half a write"
        case FailAt(_, code):
            return f"{errno.errorcode[code]} once"
        case FailFrom(_, code):
            return f"{errno.errorcode[code]} from here on"
        case RespondAt(_, status, times, after):
            return f"{status} {'once' if times == 1 else 'from here on'}{', carried out' if after else ''}"
        case DropAt(_, _, after):
            return f"connection lost{', carried out' if after else ''}"
        case DelayAt():
            return "delay"


@dataclass
class Cells:
    """Counts of one process."""

    judged: Counter[Cell] = field(default_factory=Counter)
    violations: Counter[Cell] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    """What else a part counted, a line each."""

    def add(self, cell: Cell, is_right: bool) -> None:
        self.judged[cell] += 1
        self.violations[cell] += not is_right

    def save(self, path: Path) -> None:
        rows = [
            asdict(cell) | {"cells": count, "violations": self.violations[cell]}
            for cell, count in sorted(self.judged.items())
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cells": rows, "notes": self.notes}, indent=1) + "\n", encoding="utf-8")

    def load(self, path: Path) -> None:
        saved = json.loads(path.read_text(encoding="utf-8"))
        self.notes += saved["notes"]
        for row in saved["cells"]:
            cell = Cell(row["place"], row["writer"], row["fault"])
            self.judged[cell] += row["cells"]
            self.violations[cell] += row["violations"]

    def tables(self) -> list[str]:
        """Two Markdown tables: by place and fault, and by writer."""
        return [
            *self._table("Place | Fault", ((cell.place, cell.fault) for cell in self.judged)),
            "",
            *self._table("Writer", ((cell.writer,) for cell in self.judged)),
            "",
            f"{self._sum('kill')} kill cells, {self._sum('') - self._sum('kill')} error cells, "
            f"{sum(self.violations.values())} violations",
            *self.notes,
        ]

    def _sum(self, prefix: str) -> int:
        return sum(count for cell, count in self.judged.items() if cell.fault.startswith(prefix))

    def _table(self, title: str, keys: Iterable[tuple[str, ...]]) -> list[str]:
        lines = [f"| {title} | Cells | Violations |", "|---" * (title.count("|") + 3) + "|"]
        for key in sorted(set(keys)):
            chosen = [cell for cell in self.judged if set(key) <= {cell.place, cell.fault, cell.writer}]
            cells, violations = sum(map(self.judged.get, chosen)), sum(map(self.violations.get, chosen))
            lines.append(f"| {' | '.join(key)} | {cells:,} | {violations} |")
        return lines


CELLS = Cells()


def main(paths: list[str]) -> None:
    """Print the tables of several parts together: `python -m tests.promises.crash.cells build/cells/*.json`."""
    whole = Cells()
    for path in paths:
        whole.load(Path(path))
    print("\n".join(whole.tables()))


if __name__ == "__main__":
    main(sys.argv[1:])
