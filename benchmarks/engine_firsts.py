"""Cold-start measurements of the engine benchmark: a new process, no topology, a changed graph."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks import engine_fresh
from benchmarks.engine_data import Data
from benchmarks.engine_measure import Cost, Measured, middle, timed
from benchmarks.engine_queries import BY_NAME, INSERT
from benchmarks.engine_systems import Ladybug, Omnigraph

BRANCH = "benchmark-inserts"
START_SECONDS = 0.7
OWN_SECONDS = 0.15


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
    """A traversal right after one edge was inserted, against the same before, on temporary branches."""
    graph = system.graph
    found = []
    for name in ("hop1", "reach3", "sources1k"):
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
    return Measured(data.size.name, f"insert_{name}", title, "before", 1.5, middle(after), middle(before), wrong)


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
            size, "start", f"{title} ({steps})", "0.7 s", 1.0, Cost(whole.wall, whole.processor, runs), limits[0], found
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
