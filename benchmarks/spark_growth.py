"""Scaling of a Spark load: doubling the input at most doubles the time and leaves the driver's memory constant.

`python -m benchmarks.spark_growth --persons 400000 --doublings 1`: loads that many persons and twice as many, with five
edges each, each in a process of its own. The driver is the Python process; the JVM, which has a limit of its own, and
the workers are others. With `--repeat 3` the fastest of three runs counts: other load only adds time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

from benchmarks.processes import forget_peak, peak_bytes, timed
from benchmarks.spark_load import EDGES_PER_PERSON, PERSONS, Loads, write_input
from omnigraph.spark import session


def child(directory: str, persons: int, checks: str) -> None:
    """One load; prints its costs as JSON."""
    spark = session()
    warm = write_input(tempfile.mkdtemp(dir=directory), 100)
    Loads(spark, os.path.join(directory, "warm"), warm).spark("graph", checks)
    paths = write_input(tempfile.mkdtemp(dir=directory), persons)
    forget_peak()
    before = peak_bytes()
    cost = timed(lambda: Loads(spark, directory, paths).spark("graph", checks))
    print(json.dumps([*cost, before, peak_bytes()]))


def in_process(persons: int, checks: str) -> tuple[float, float, int, int]:
    directory = tempfile.mkdtemp(prefix="omnigraph-benchmark-")
    try:
        command = [sys.executable, "-m", "benchmarks.spark_growth", "--child", directory]
        command += ["--persons", str(persons), "--checks", checks]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds, processor, before, peak = json.loads(output.splitlines()[-1])
        return seconds, processor, before, peak
    finally:
        shutil.rmtree(directory)


def least(costs: list[tuple[float, float, int, int]]) -> tuple[float, float, int, int]:
    """The shortest times and the largest memory of several runs."""
    seconds, processor, before, peak = zip(*costs, strict=True)
    return min(seconds), min(processor), max(before), max(peak)


def main(persons: int, doublings: int, checkers: list[str], repeat: int) -> None:
    counts = [persons * 2**times for times in range(doublings + 1)]
    for checks in checkers:
        # Sizes take turns within a round, so that other load affects all of them alike.
        rounds = [[in_process(count, checks) for count in counts] for _ in range(repeat)]
        small: tuple[float, float, int, int] | None = None
        for count, costs in zip(counts, zip(*rounds, strict=True), strict=True):
            seconds, processor, before, peak = large = least(list(costs))
            print(
                f"{checks:<8} {count * (1 + EDGES_PER_PERSON):>12,} rows {seconds:8.1f} s {processor:8.1f} processor s "
                f"driver {before / 2**20:,.0f} MiB before, {peak / 2**20:,.0f} MiB at most; "
                f"load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
            if small is not None:
                print(
                    f"{checks:<8} doubled: {seconds / small[0]:.2f} times the time, {processor / small[1]:.2f} times "
                    f"the processor time, {(peak - small[3]) / 2**20:+,.0f} MiB of memory",
                    flush=True,
                )
            small = large


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, default=PERSONS)
    parser.add_argument("--doublings", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--checks", nargs="+", choices=["auto", "driver", "cluster"], default=["driver", "cluster"])
    given = parser.parse_args()
    if given.child:
        child(given.child, given.persons, given.checks[0])
    else:
        main(given.persons, given.doublings, given.checks, given.repeat)
