"""Merging changed rows into a large table: fast forward and three-way, against loading and against raw Lance.

`python -m benchmarks.merge` (`--quick` for a smaller table). A branch changes some rows of a table of people; for the
three-way merge main changes as many others, a tenth of them the same people in another property. Beside the merges the
same rows are (a) loaded with mode `merge` into the target, and (b) given to `lance.merge_insert` on a raw table. A
mutation of one row shows the cost of a publish. All take turns in one process and on one disk, without `fsync`.
Small merges, and the first read of a few texts by a new handle, are measured before and after a few rows are deleted:
Lance resolves positions differently in a fragment with deletions.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import lance
import pyarrow as pa

import omnigraph
from omnigraph.engine.graph import Graph

SCHEMA = """
node Person {
    name: String @key
    city: String?
    age: I32?
    score: F64?
    visits: I64?
}
"""
FEW = 100
READ = "query read($names: [String]) { match { $p: Person  $p.name in $names } return { $p.name, $p.city } }"
ONE = 'query one() { insert Person { name: "one" } }'


@dataclass(frozen=True)
class Sizes:
    rows: int
    changed: tuple[int, ...]
    rounds: int


FULL = Sizes(1_000_000, (1_000, 10_000, 100_000), 3)
QUICK = Sizes(100_000, (1_000, 10_000), 2)


def people(numbers: Sequence[int], *, score: float | None = None, city: str | None = None) -> pa.Table:
    """Rows of the table; those that one side changes have another score or another city."""
    return pa.table(
        {
            "name": pa.array([f"person-{number:09d}" for number in numbers], pa.string()),
            "city": pa.array([city or f"city-{number % 1000}" for number in numbers], pa.string()),
            "age": pa.array([number % 90 for number in numbers], pa.int32()),
            "score": pa.array([number / 7 if score is None else score for number in numbers], pa.float64()),
            "visits": pa.array([number * 3 for number in numbers], pa.int64()),
        }
    )


def timed(call: Callable[[], object]) -> float:
    """Milliseconds of processor time: the wall clock of a shared machine measures its other users."""
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1000


@dataclass
class Contest:
    """One graph and one raw table with the same rows."""

    graph: Graph
    raw: Path
    rows: int
    turn: int = 0

    def round(self, changed: int) -> dict[str, float]:
        """One round of all operations, each on a branch of its own."""
        self.turn += 1
        step = self.rows // changed
        mine = range(0, self.rows, step)
        # As many others on the target; every tenth is a row that the source changes too.
        others = [number + (0 if place % 10 == 0 else step // 2) for place, number in enumerate(mine)]
        score, city = float(self.turn), f"moved-{self.turn}"
        base = self.graph.snapshot().commit_id
        names = [f"{kind}-{changed}-{self.turn}" for kind in ("source", "target", "load", "forward")]
        for name in names:
            self.graph.create_branch(name, at=base)
        delta = people(mine, score=score)
        self.graph.load(delta, type_name="Person", branch=names[0])
        self.graph.load(people(others, city=city), type_name="Person", branch=names[1])
        self.graph.load(people(others, city=city), type_name="Person", branch=names[2])
        times = {
            "fast forward": timed(lambda: self.graph.merge(names[0], names[3])),
            "three-way": timed(lambda: self.graph.merge(names[0], names[1])),
            "load": timed(lambda: self.graph.load(delta, type_name="Person", branch=names[2])),
            "merge_insert": timed(lambda: self._merge_insert(delta)),
            "one row": timed(lambda: self.graph.mutate(ONE, branch=names[3])),
        }
        for name in names:
            self.graph.delete_branch(name)
        return times

    def first_read(self) -> float:
        """A few texts by a new handle that has found the entities and read none of their properties."""
        graph = omnigraph.open(self.graph.uri, durability="os")
        names = [f"person-{number:09d}" for number in range(1, self.rows, self.rows // FEW)]
        list(graph.query(READ.replace(", $p.city", ""), {"names": names}))
        return timed(lambda: list(graph.query(READ, {"names": names})))

    def delete_few(self) -> None:
        names = [f"person-{number:09d}" for number in range(3, self.rows, self.rows // FEW)]
        self.graph.mutate("query d() {" + " ".join(f'delete Person where name = "{name}"' for name in names) + "}")

    def _merge_insert(self, delta: pa.Table) -> None:
        dataset = lance.dataset(str(self.raw))
        dataset.merge_insert("name").when_matched_update_all().when_not_matched_insert_all().execute(delta)


def medians(contest: Contest, changed: int, rounds: int) -> dict[str, float]:
    """Medians of the rounds after the first one, and the first merge."""
    first = contest.round(changed)
    times = [contest.round(changed) for _ in range(rounds)]
    later = {name: statistics.median(item[name] for item in times) for name in times[0]}
    return later | {"first three-way": first["three-way"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true")
    sizes = QUICK if parser.parse_known_args()[0].quick else FULL
    place = Path(tempfile.mkdtemp(prefix="bench-merge-"))
    try:
        table = people(range(sizes.rows))
        graph = omnigraph.create(place / "graph", SCHEMA, durability="os")
        graph.load(table, type_name="Person")
        lance.write_dataset(table, str(place / "raw"), enable_stable_row_ids=True)
        contest = Contest(graph, place / "raw", sizes.rows)
        print(f"{sizes.rows:,} rows, medians of {sizes.rounds} rounds, processor ms; ratio = three-way / merge_insert")
        for state in ("before", "after"):
            if state == "after":
                contest.delete_few()
            median = medians(contest, FEW, sizes.rounds)
            read = statistics.median(contest.first_read() for _ in range(sizes.rounds))
            print(
                f"{FEW} changed, {state} {FEW} deletes: fast forward {median['fast forward']:.1f}"
                f"  three-way {median['three-way']:.1f}, the first {median['first three-way']:.1f}"
                f"  merge_insert {median['merge_insert']:.1f}  first read of {FEW} texts {read:.1f}",
                flush=True,
            )
        for changed in sizes.changed:
            median = medians(contest, changed, sizes.rounds)
            shown = "  ".join(f"{name} {value:.1f}" for name, value in median.items())
            print(
                f"{changed:>9,} changed: {shown}  ratio {median['three-way'] / median['merge_insert']:.2f}", flush=True
            )
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
