"""Cold-start measurements of the engine benchmark: a new process, no topology, a changed graph."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import engine_fresh
from benchmarks.engine_data import Data
from benchmarks.engine_measure import Cost, Measured, middle, timed
from benchmarks.engine_queries import BY_NAME, INSERT
from benchmarks.engine_systems import Ladybug, Omnigraph

BRANCH = "benchmark-inserts"
START_SECONDS = 0.25
OWN_SECONDS = 0.15
COMMAND_SECONDS = 0.3
WARM_SECONDS = 0.1
WARM_START_SECONDS = 300.0


def new_process(data: Data, places: dict[str, Path], runs: int) -> list[Measured]:
    """The first traversal of a process after another process has built the topology."""
    if "ladybug" not in places:
        return []
    values = [{"key": key} for key in data.choices["starts"]]
    engine_fresh.ask("omnigraph", places["omnigraph"], "reach3", values[0])
    runs_by_system: dict[str, list[engine_fresh.Fresh]] = {"omnigraph": [], "ladybug": []}
    for number in range(runs):
        for system, found in runs_by_system.items():
            found.append(engine_fresh.ask(system, places[system], "reach3", values[number % len(values)]))
    ours, theirs = (engine_fresh.middle(runs_by_system[system]) for system in ("omnigraph", "ladybug"))
    same = all(one.answer == two.answer for one, two in zip(*runs_by_system.values(), strict=True))
    agreement = "equal" if same else f"WRONG: {ours.answer} and {theirs.answer}"
    lines = (
        ("first_open", "first traversal in a new process: open and ask", lambda run: (run.opening + run.asking, 0.0)),
        ("first_process", "the same, the whole process", lambda run: (run.wall, run.processor)),
    )
    return [
        Measured(
            data.size.name,
            name,
            title,
            "ladybug",
            1.0,
            Cost(*times(ours), runs),
            Cost(*times(theirs), runs),
            agreement,
        )
        for name, title, times in lines
    ]


def no_topology(data: Data, places: dict[str, Path], runs: int) -> list[Measured]:
    """The first traversal ever, which has to build what later ones read, against copying the edges into Ladybug."""
    if "ladybug" not in places:
        return []
    ours, theirs, answers = [], [], []
    scratch = places["ladybug"].parent / "scratch"
    for _ in range(runs):
        shutil.rmtree(places["omnigraph"] / "cache", ignore_errors=True)
        fresh = engine_fresh.ask("omnigraph", places["omnigraph"], "paths2_filtered", {})
        ours.append((fresh.opening + fresh.asking, fresh.processor))
        answers.append(fresh.answer)
        scratch.mkdir()
        try:
            seconds = Ladybug().load(data, scratch / "data")["Follows"]
        finally:
            shutil.rmtree(scratch)
        theirs.append((seconds, 0.0))
    title = f"first traversal ever, {data.size.edges:,} edges, against COPY of the edges"
    same = "equal" if all(answer == answers[0] for answer in answers) else "WRONG: answers differ between runs"
    return [Measured(data.size.name, "first_ever", title, "ladybug", 0.5, middle(ours), middle(theirs), same)]


def after_insert(data: Data, system: Omnigraph, runs: int) -> list[Measured]:
    """A query right after one edge was inserted, against the same before, on temporary branches.

    The insert does not change what the point look-up reads: its ratio is that of cold caches of the processor.
    """
    graph = system.graph
    found = []
    for name in ("point", "hop1", "reach3", "sources1k"):
        if BRANCH in [branch.name for branch in graph.branches()]:
            graph.delete_branch(BRANCH)
        graph.create_branch(BRANCH)
        try:
            found.append(_after_insert(data, system, name, runs))
        finally:
            graph.delete_branch(BRANCH)
    return found


def _after_insert(data: Data, system: Omnigraph, name: str, runs: int) -> Measured:
    question = BY_NAME[name]
    text, key = question.texts["omnigraph"], data.choices["starts"][0]
    before, after, wrong = [], [], "equal"
    neighbours = BY_NAME["hop1"].texts["omnigraph"]
    for number in range(runs):
        known = {row[0] for row in system.rows(system.ask(neighbours, {"key": key}, BRANCH))}
        system.ask(text, {"key": key}, BRANCH)
        before.append(timed(lambda: system.ask(text, {"key": key}, BRANCH)))
        stranger = next(one for one in data.choices["lookups"][number:] if one != key and one not in known)
        system.graph.mutate(INSERT, {"from": key, "to": stranger}, branch=BRANCH)
        after.append(timed(lambda: system.ask(text, {"key": key}, BRANCH)))
        if {row[0] for row in system.rows(system.ask(neighbours, {"key": key}, BRANCH))} != known | {stranger}:
            wrong = f"WRONG: {stranger} was inserted and is not found"
    title = f"right after an insert: {question.title}"
    return Measured(data.size.name, f"insert_{name}", title, "before", 1.2, middle(after), middle(before), wrong)


def start(data: Data, places: dict[str, Path], runs: int) -> list[Measured]:
    """Import, open and a point query in a new process: all of it, and the imports of our own modules."""
    values = {"key": data.choices["lookups"][0]}
    place = places["omnigraph"]
    whole = engine_fresh.middle([engine_fresh.ask("omnigraph", place, "point", values) for _ in range(runs)])
    traced = [engine_fresh.ask("omnigraph", place, "point", values, importtime=True) for _ in range(runs)]
    own = engine_fresh.middle(traced).own_imports
    found = "equal" if [row[0] for row in whole.answer] == [values["key"]] else f"WRONG: {whole.answer}"
    size, title = data.size.name, "import, open and point query in a new process"
    steps = f"import {whole.importing:.3f}, open {whole.opening:.3f}, query {whole.asking:.3f} s"
    limits = (Cost(START_SECONDS, 0.0), Cost(OWN_SECONDS, 0.0))
    return [
        Measured(
            size,
            "start",
            f"{title} ({steps})",
            f"{START_SECONDS:g} s",
            1.0,
            Cost(whole.wall, whole.processor, runs),
            limits[0],
            found,
        ),
        Measured(
            size,
            "start_own",
            "the imports of our own modules in it",
            "0.15 s",
            1.0,
            Cost(own, own, runs),
            limits[1],
            found,
        ),
    ]


COMMAND = "from omnigraph.cli.main import program; program()"


def command(data: Data, places: dict[str, Path], runs: int) -> list[Measured]:
    """``omnigraph query`` with a point query: an ordinary process, and one whose work a warm process does.

    Processor time is that of the process that was called.
    """
    key = data.choices["lookups"][0]
    words = ["query", "--store", str(places["omnigraph"]), "-e", BY_NAME["point"].texts["omnigraph"]]
    call = [sys.executable, "-c", COMMAND, *words, "--params", f'{{"key": "{key}"}}', "--json"]
    with tempfile.TemporaryDirectory() as runtime:
        cold = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "OMNIGRAPH_WARM": "0"}
        warm = {**cold, "OMNIGRAPH_WARM": "1", "XDG_RUNTIME_DIR": runtime}
        usual = [_command(call, cold) for _ in range(runs)]
        _command(call, warm)
        place = Path(runtime) / "omnigraph"
        ended = time.monotonic() + WARM_START_SECONDS
        while not any(path.is_socket() for path in place.iterdir()):
            if time.monotonic() > ended:
                raise RuntimeError("the warm process did not start")
            time.sleep(0.1)
        handed = [_command(call, warm) for _ in range(runs)]
    found = "equal" if len({answer for *_, answer in (*usual, *handed)}) == 1 else "WRONG: answers differ"
    size, title = data.size.name, "omnigraph query, one point query"
    return [
        Measured(size, name, shown, f"{limit:g} s", 1.0, middle([run[:2] for run in measured]), Cost(limit, 0.0), found)
        for name, shown, limit, measured in (
            ("command", title, COMMAND_SECONDS, usual),
            ("command_warm", f"{title}, in the warm process", WARM_SECONDS, handed),
        )
    ]


def _command(call: list[str], environment: dict[str, str]) -> tuple[float, float, str]:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, processor, ended.stdout
