"""Two checkouts of the package, measured in turn: start-up, warm queries, inserts and a merge.

Run: ``python -m benchmarks.checkouts OLD/src NEW/src [--rounds 6]``. Every round starts one process per checkout, so
that both see the same load of the machine. The table has the median of all rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

PROGRAM = """
import statistics, tempfile, time
began = time.perf_counter()
import omnigraph
measured = {"import": time.perf_counter() - began}
graph = omnigraph.create(tempfile.mkdtemp() + "/graph", "node P { name: String @key age: I64? } edge Knows: P -> P")
people = [{"type": "P", "data": {"name": f"p{n}", "age": n % 90}} for n in range(2000)]
edges = [{"edge": "Knows", "from": f"p{n}", "to": f"p{(n * 7 + k) % 2000}"} for n in range(2000) for k in range(5)]
graph.load([*people, *edges], "append")

def median(clock, count, run):
    run(0)
    times = []
    for number in range(1, count):
        began = clock()
        run(number)
        times.append(clock() - began)
    return statistics.median(times)

POINT = "query q($n: String) { match { $a: P { name: $n } } return { $a.age } }"
HOP = "query q($n: String) { match { $a: P { name: $n } $a knows $b } return { $b.name } }"
COUNT = "query q() { match { $a: P $a knows $b $b knows $c } return { count($c) as n } }"
INSERT = "query q($n: String) { insert P { name: $n } }"
UPDATE = "query q($n: String) { update P set { age: 99 } where name = $n }"
measured["point query"] = median(time.process_time, 300, lambda _: graph.query(POINT, {"n": "p5"}).table)
measured["one hop"] = median(time.process_time, 300, lambda _: graph.query(HOP, {"n": "p5"}).table)
measured["two hops counted"] = median(time.process_time, 60, lambda _: graph.query(COUNT).table)
measured["insert"] = median(time.perf_counter, 60, lambda n: graph.mutate(INSERT, {"n": f"x{n}"}))
graph.create_branch("draft")
graph.mutate(UPDATE, {"n": "p5"}, branch="draft")
graph.mutate(UPDATE, {"n": "p6"})
began = time.perf_counter()
graph.merge("draft")
measured["first merge"] = time.perf_counter() - began
for name, seconds in measured.items():
    print(f"{name}={seconds * 1000}")
"""


def measure(source: str) -> dict[str, float]:
    """Milliseconds by name, of one process with this checkout."""
    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {name: float(value) for name, value in (line.split("=") for line in shown.splitlines())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", help="the `src` directory of the earlier checkout")
    parser.add_argument("new", help="the `src` directory of the later checkout")
    parser.add_argument("--rounds", type=int, default=6, help="processes per checkout [default: 6]")
    given = parser.parse_args()
    old: list[dict[str, float]] = []
    new: list[dict[str, float]] = []
    for _ in range(given.rounds):
        old.append(measure(given.old))
        new.append(measure(given.new))
    print("| | old ms | new ms | ratio |\n|---|---|---|---|")
    for name in old[0]:
        before, after = (statistics.median(item[name] for item in runs) for runs in (old, new))
        print(f"| {name} | {before:.2f} | {after:.2f} | {after / before:.2f} |")


if __name__ == "__main__":
    main()
