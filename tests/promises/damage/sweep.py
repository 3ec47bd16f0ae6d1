"""Damage of one file, and what a graph says and does afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph.errors import CorruptionError, NotAGraphError, OmnigraphError
from tests.promises.damage.graphs import insert

Damage = Callable[[Path], None]
Verb = Callable[[omnigraph.Graph], Any]


def flip(share: float, mask: int = 0x01) -> Damage:
    """Change one byte, so far into the file."""

    def damage(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[min(int(len(content) * share), len(content) - 1)] ^= mask
        rewrite(file, bytes(content))

    return damage


def truncate(file: Path) -> None:
    content = file.read_bytes()
    rewrite(file, content[: len(content) // 2])


def empty(file: Path) -> None:
    rewrite(file, b"")


def remove(file: Path) -> None:
    file.unlink()


def rewrite(file: Path, content: bytes) -> None:
    """Put another file in the place of one that is a link to the original."""
    status = file.stat()
    file.unlink()
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def export(branch: str) -> Verb:
    return lambda graph: b"".join(graph.snapshot(branch).export())


def query(text: str) -> Verb:
    return lambda graph: graph.query(text).to_pylist()


EXPORTS = {f"export {branch}": export(branch) for branch in ("main", "old", "review/one")}
READS: dict[str, Verb] = {
    **EXPORTS,
    "history": lambda graph: [commit.id for commit in graph.commits()],
    "schema": lambda graph: graph.snapshot().schema_text(),
    "key": query('query q() { match { $p: Person {name: "p0007"} } return { $p.name, $p.city, $p.age } }'),
    "words": query('query q() { match { $p: Person search($p.bio, "word1") } return { $p.name } order { $p.name } }'),
    "hop": query('query q() { match { $p: Person {name: "p0003"} $p knows $f } return { $f.name } }'),
    "blob": lambda graph: graph.snapshot().to_arrow("node:Person").column("photo").to_pylist(),
}
"""Reads whose answers are compared."""

CHECKS: dict[str, Verb] = {
    "branch list": lambda graph: graph.branches(),
    "doctor": lambda graph: graph.doctor(),
    "cleanup --dry-run": lambda graph: graph.cleanup(keep=3, grace="0s", dry_run=True),
}
WRITES: dict[str, Verb] = {
    "mutate": lambda graph: insert(graph, "after"),
    "cleanup": lambda graph: graph.cleanup(keep=3, grace="0s"),
}


@dataclass
class Seen:
    """The answers of every verb, or the errors they ended with; ``raw`` are exceptions that are none of ours."""

    answers: dict[str, Any] = field(default_factory=dict)
    raw: list[str] = field(default_factory=list)

    def run(self, root: Path, verbs: dict[str, Verb]) -> None:
        """Run each verb on a graph that was just opened."""
        for name, verb in verbs.items():
            try:
                self.answers[name] = verb(omnigraph.open(root, durability="os"))
            except OmnigraphError as error:
                self.answers[name] = error
            except BaseException as error:
                self.raw.append(f"{name}: {error!r}")

    def problems(self) -> Iterator[str]:
        """Everything that ``verify`` named; of a graph that cannot be opened, the file that the error names."""
        report = self.answers.get("verify")
        if isinstance(report, CorruptionError | NotAGraphError):
            yield str(report.facts.get("path"))
        elif report is not None:
            yield from (problem.path for problem in (*report.problems, *report.remarks))

    def wrong(self, right: Seen) -> list[str]:
        """Reads that answered something else than the truth."""
        answered = [name for name in READS if name in self.answers]
        return [
            name
            for name in answered
            if not isinstance(self.answers[name], OmnigraphError) and self.answers[name] != right.answers[name]
        ]


def look(root: Path) -> Seen:
    """Check and read a graph."""
    seen = Seen()
    seen.run(root, {"verify": lambda graph: graph.verify(), **CHECKS, **READS})
    return seen
