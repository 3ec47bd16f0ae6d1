"""The embedded engine against its peers on social graphs: the table of targets, measured.

`python -m benchmarks.engine --graph small` (`large`, `both`; `--only NAME ...`, `--json`, `--keep DIR`). The systems
answer the same questions about the same data in turn, in one process, so that the ratios hold although the machine is
shared; their answers are compared first. Peers are installed into an environment of the benchmark's own:
`pip install --no-deps -r requirements.lock`, then `pip install -r benchmarks/requirements.txt`. One that is missing is
left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmarks import engine_firsts, engine_writers
from benchmarks.engine_data import SIZES, Data, ensure
from benchmarks.engine_interactive import INTERACTIVE
from benchmarks.engine_measure import Cost, Effort, Measured, measure
from benchmarks.engine_queries import QUESTIONS
from benchmarks.engine_systems import Ladybug, Omnigraph, System, installed
from benchmarks.engine_wide import WIDE

FIRSTS = ("start", "command", "first_open", "first_ever", "insert", "merge", "writers")
"""Measurements other than questions."""

LOADED = "loaded.json"

ALL = (*QUESTIONS, *WIDE, *INTERACTIVE)


def load(data: Data, systems: list[System], directory: Path, reload: list[str]) -> dict[str, Path]:
    """Open every system, loading the data if it is not loaded yet; returns the path of each."""
    places: dict[str, Path] = {}
    for system in systems:
        if system.name == "duckdb_numbers":
            places[system.name] = places["duckdb"]
            system.open(places["duckdb"])
            continue
        home = directory / system.name
        if system.name in reload or not (home / LOADED).exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            parts = system.load(data, home / "data")
            (home / LOADED).write_text(json.dumps(parts))
            shown = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in parts.items())
            print(f"loaded {data.size.name} into {system.name}: {shown}", file=sys.stderr, flush=True)
        places[system.name] = home / "data"
        system.open(home / "data")
    return places


def graph_results(
    data: Data, systems: list[System], places: dict[str, Path], only: list[str], effort: Effort
) -> list[Measured]:
    """Results of all selected questions and first-time measurements."""

    def wanted(name: str) -> bool:
        return not only or name in only

    found: list[Measured] = []
    for question in ALL:
        if wanted(question.name) and data.size.name in question.graphs:
            found += _shown(measure(data.size.name, question, systems, data.choices, effort))
    [ours] = [system for system in systems if isinstance(system, Omnigraph)]
    rare = max(3, min(7, effort.rounds // 4))
    firsts: dict[str, Callable[[], list[Measured]]] = {
        "insert": lambda: engine_firsts.after_insert(data, ours, rare),
        "merge": lambda: engine_writers.merges(data, ours, rare),
        "writers": lambda: engine_writers.shared_branch(data),
        "start": lambda: engine_firsts.start(data, places, rare),
    }
    firsts["command"] = lambda: engine_firsts.command(data, places, rare)
    firsts["first_open"] = lambda: engine_firsts.new_process(data, places, rare)
    firsts["first_ever"] = lambda: engine_firsts.no_topology(data, places, 1 if data.size.name == "large" else 3)
    for system in systems:
        if isinstance(system, Ladybug):
            system.close()
    for name, action in firsts.items():
        if wanted(name):
            found += _shown(action())
    return found


def _shown(lines: list[Measured]) -> list[Measured]:
    for line in lines:
        print(f"   {line.name}: {_ratio(line)} of {line.against}, {line.agreement}", file=sys.stderr, flush=True)
    return lines


def _ratio(line: Measured) -> str:
    return "-" if line.ratio is None else f"{line.ratio:.2f}x"


def _milliseconds(cost: Cost | None) -> str:
    return "-" if cost is None else f"{cost.seconds * 1000:,.2f}" if cost.seconds < 1 else f"{cost.seconds * 1000:,.0f}"


def table(lines: list[Measured]) -> str:
    """The result as markdown."""
    rows = [
        "| Graph | Operation | Ours ms | Against | Theirs ms | Ratio | Processor time | Goal | | Answers |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        processor = "-"
        if line.ours and line.theirs and line.theirs.processor:
            processor = f"{line.ours.processor / line.theirs.processor:.2f}x"
        times = f"{_milliseconds(line.ours)} | {line.against} | {_milliseconds(line.theirs)}"
        rows.append(
            f"| {line.graph} | {line.title} | {times} "
            f"| {_ratio(line)} | {processor} | {line.goal:g}x | {line.verdict} | {line.agreement} |"
        )
    verdicts = [line.verdict for line in lines if line.verdict != "-"]
    return "\n".join([*rows, "", f"{verdicts.count('met')} of {len(verdicts)} goals met."])


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", choices=[*SIZES, "both"], default="small", help="both is small and large")
    names = [question.name for question in ALL] + list(FIRSTS)
    parser.add_argument("--only", nargs="+", choices=names, default=[], metavar="NAME", help=", ".join(names))
    parser.add_argument("--without", nargs="+", default=[], metavar="SYSTEM", help="systems to leave out")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep data and databases here for the next run")
    parser.add_argument("--reload", nargs="+", default=[], metavar="SYSTEM", help="load these systems again")
    parser.add_argument("--load-only", action="store_true", help="generate and load, measure nothing")
    parser.add_argument("--rounds", type=int, default=30, help="maximum number of runs of a question [default: 30]")
    parser.add_argument("--seconds", type=float, default=20.0, help="maximum seconds spent on a question [default: 20]")
    parser.add_argument("--json", action="store_true", help="print the result as JSON instead of a table")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    options = arguments([] if given is None else given)
    directory = options.keep or Path(tempfile.mkdtemp(prefix="omnigraph-engine-"))
    lines: list[Measured] = []
    try:
        for name in ("small", "large") if options.graph == "both" else (options.graph,):
            home = directory.absolute() / name
            data = ensure(SIZES[name], home / "files")
            systems = [system for system in installed() if system.name not in options.without]
            places = load(data, systems, home, options.reload)
            if not options.load_only:
                effort = Effort(options.rounds, options.seconds)
                lines += graph_results(data, systems, places, options.only, effort)
    finally:
        if options.keep is None:
            shutil.rmtree(directory)
    if options.json:
        print(json.dumps([{**asdict(line), "ratio": line.ratio, "verdict": line.verdict} for line in lines], indent=1))
    else:
        print(table(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
