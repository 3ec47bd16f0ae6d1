"""Peak memory of the questions of the engine benchmark, each run once in a fresh process.

`python -m benchmarks.engine_memory DIR --graph large`, where DIR is what `benchmarks.engine --keep DIR` has loaded.
Only anonymous memory counts: pages of mapped files are shared and can be evicted at any time. The goal is 2 GB for the
large graph. `--limit GB` sets RLIMIT_DATA, so that a question that needs more fails instead of exhausting the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.engine_queries import QUESTIONS

GOAL = 2 << 30
SAMPLE_SECONDS = 0.005


def status() -> dict[str, int]:
    """Bytes by name from the kernel's own account of this process."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[-1] == "kB"}


class Watch:
    """Peak anonymous memory since the last call of `taken`, sampled: the kernel's own peak includes mapped files."""

    def __init__(self) -> None:
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, status()["RssAnon"])

    def taken(self) -> int:
        peak = max(self.peak, status()["RssAnon"])
        self.peak = 0
        return peak

    def close(self) -> None:
        self._stop.set()
        self._thread.join()


def child(place: str, choices: dict[str, Any], limit: float | None, only: list[str]) -> list[dict[str, Any]]:
    """Ask every question once, in this process."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit * 2**30), int(limit * 2**30)))
    import omnigraph

    watch, found = Watch(), []
    graph = omnigraph.open(place)
    for question in QUESTIONS:
        if only and question.name not in only:
            continue
        values = question.parameters(choices)[0]
        start, failure = time.perf_counter(), ""
        try:
            graph.query(question.texts["omnigraph"], values).to_arrow()
        # Running out of memory is a result of this benchmark, in whatever form the libraries report it.
        except (Exception, MemoryError) as error:
            failure = f"{type(error).__name__}: {str(error)[:120]}"
        seconds = time.perf_counter() - start
        found.append({"name": question.name, "seconds": seconds, "peak": watch.taken(), "failure": failure})
        print(json.dumps(found[-1]), flush=True)
    watch.close()
    print(json.dumps({"name": "whole process", "seconds": 0, "peak": status()["VmHWM"], "failure": ""}), flush=True)
    return found


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--graph", default="large")
    parser.add_argument(
        "--limit", type=float, metavar="GB", help="limit of the data segment (RLIMIT_DATA) [default: none]"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    home = options.directory / options.graph
    if options.child:
        choices = json.loads((home / "files" / "choices.json").read_text())
        child(str(home / "omnigraph" / "data"), choices, options.limit, options.only)
        return
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "benchmarks.engine_memory", *(sys.argv[1:] if given is None else given), "--child"]
    print("| Question | Peak anonymous memory MB | Seconds | |\n|---|---|---|---|")
    largest = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            entry = json.loads(line)
            if entry["name"] == "whole process":
                print(f"| all resident memory, mapped files included | {entry['peak'] / 2**20:,.0f} | | |")
            else:
                largest = max(largest, entry["peak"])
                shown = f"{entry['peak'] / 2**20:,.0f} | {entry['seconds']:.2f}"
                print(f"| {entry['name']} | {shown} | {entry['failure']} |", flush=True)
    ended = f"; the process ended with {process.returncode}" if process.returncode else ""
    verdict = "met" if largest <= GOAL and not process.returncode else "missed"
    print(f"\nPeak {largest / 2**20:,.0f} MB of anonymous memory, goal {GOAL / 2**20:,.0f} MB: {verdict}{ended}.")


if __name__ == "__main__":
    main()
