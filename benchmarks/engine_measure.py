"""The measuring loop: every system answers the same question in turn; answers are compared and timed."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from benchmarks.engine_queries import Parameters, Question
from benchmarks.engine_systems import Rows, System

OURS = "omnigraph"
CHECKED = 5
"""Parameters whose answers are compared before the clock runs; asking them warms every system."""

WARM_UPS = 40
"""Runs of a system before its runs are timed, at most; the time for them is half of that of the question."""

ROUNDS_MIN = 3
SECONDS_MAX = 60.0
"""Time limit of a question, which overrides ``ROUNDS_MIN``: at such a duration noise is negligible."""

RECALL_MIN = 0.95
SCORE_TOLERANCE = 1e-3
FUSED_MIN = 0.5
"""LanceDB fuses the ten best of each ranking, Omnigraph all of them: more than half of the answers agree, not all."""


@dataclass(frozen=True)
class Effort:
    """The budget of a question: rounds and seconds, whichever ends first, but at least ``ROUNDS_MIN`` rounds."""

    rounds: int
    seconds: float

    def spent(self, rounds: int, seconds: float) -> bool:
        return rounds >= self.rounds or (rounds >= ROUNDS_MIN and seconds > self.seconds) or seconds > SECONDS_MAX


@dataclass(frozen=True)
class Cost:
    """Medians of latency and of processor time, both in seconds; other load affects processor time less."""

    seconds: float
    processor: float
    runs: int = 1


@dataclass(frozen=True)
class Measured:
    """One line of the result: ours against one other, or against a limit in seconds."""

    graph: str
    name: str
    title: str
    against: str
    goal: float
    ours: Cost | None
    theirs: Cost | None
    agreement: str
    """``equal``, a recall, or what is wrong."""

    @property
    def ratio(self) -> float | None:
        return self.ours.seconds / self.theirs.seconds if self.ours and self.theirs else None

    @property
    def verdict(self) -> str:
        """``met``, ``missed``, or ``-`` if there was no system to compare with."""
        if self.theirs is None and self.ours is not None:
            return "-"
        wrong = self.ratio is None or self.ratio > self.goal or self.agreement.startswith("WRONG")
        return "missed" if wrong else "met"


def timed(action: Callable[[], object]) -> tuple[float, float]:
    start, processor = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - start, time.process_time() - processor


def middle(runs: list[tuple[float, float]]) -> Cost:
    return Cost(statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs), len(runs))


def measure(
    graph: str, question: Question, systems: list[System], choices: Mapping[str, Any], effort: Effort
) -> list[Measured]:
    """Run every system that has a text for the question in turn; one that fails is dropped and its error reported."""
    candidates = [system for system in systems if system.name in question.texts]
    parameters = question.parameters(choices)
    failures: dict[str, str] = {}
    agreements = _compare(question, candidates, parameters, failures)
    runs = _run(question, [system for system in candidates if system.name not in failures], parameters, effort)
    costs = {name: middle(times) for name, times in runs.items()}
    return [
        Measured(
            graph,
            question.name,
            question.title,
            name,
            goal,
            costs.get(OURS),
            costs.get(name),
            _failures_of(failures, name) or agreements.get(name, "not installed"),
        )
        for name, goal in question.goals.items()
    ]


def _failures_of(failures: Mapping[str, str], name: str) -> str:
    return "; ".join(failures[system] for system in (OURS, name) if system in failures)


def _run(
    question: Question, systems: list[System], parameters: list[Parameters], effort: Effort
) -> dict[str, list[tuple[float, float]]]:
    runs: dict[str, list[tuple[float, float]]] = {system.name: [] for system in systems}
    _warm_up(question, systems, parameters, effort)
    started = time.perf_counter()
    for number in count():
        if effort.spent(number, time.perf_counter() - started):
            break
        values = parameters[number % len(parameters)]
        for system in systems:
            runs[system.name].append(timed(partial(system.ask, question.texts[system.name], values)))
    return runs


def _warm_up(question: Question, systems: list[System], parameters: list[Parameters], effort: Effort) -> None:
    """Ask every system until it answers from memory: plans are compiled and columns are kept after a few queries."""
    for system in systems:
        started = time.perf_counter()
        for number in range(WARM_UPS):
            system.ask(question.texts[system.name], parameters[number % len(parameters)])
            if time.perf_counter() - started > effort.seconds / 2:
                break


def _compare(
    question: Question, systems: list[System], parameters: list[Parameters], failures: dict[str, str]
) -> dict[str, str]:
    """Agreement of each system's answers with ours; errors are added to ``failures``."""
    answers: dict[str, list[Rows]] = {}
    for system in systems:
        try:
            answers[system.name] = [
                system.rows(system.ask(question.texts[system.name], values)) for values in parameters[:CHECKED]
            ]
        # A system that cannot answer is a result of this benchmark, whatever the reason.
        except Exception as error:
            message = " ".join(str(error).split())[:120]
            failures[system.name] = f"FAILED: {system.name}: {type(error).__name__}: {message}"
            system.recover()
    ours = answers.pop(OURS, None)
    if ours is None:
        return {}
    if question.ranked:
        return {name: _search(question, ours, theirs, parameters) for name, theirs in answers.items()}
    return {name: _equality(ours, theirs) for name, theirs in answers.items()}


def _equality(ours: list[Rows], theirs: list[Rows]) -> str:
    for one, other in zip(ours, theirs, strict=True):
        if sorted(one) != sorted(other):
            return f"WRONG: {len(one)} rows, theirs {len(other)}: {sorted(one)[:2]} and {sorted(other)[:2]}"
    return "equal"


def _search(question: Question, ours: list[Rows], theirs: list[Rows], parameters: list[Parameters]) -> str:
    """Vectors are judged by recall, texts by scores because of ties; rankings are fused from unlike lists."""
    overlap = statistics.mean(_share(one, other) for one, other in zip(ours, theirs, strict=True))
    match question.name:
        case "vector":
            exact = [[(slug,) for slug in values["exact"]] for values in parameters[: len(ours)]]
            recall = statistics.mean(_share(right, one) for right, one in zip(exact, ours, strict=True))
            other = statistics.mean(_share(right, one) for right, one in zip(exact, theirs, strict=True))
            return ("" if recall >= min(RECALL_MIN, other) else "WRONG: ") + f"recall {recall:.2f}, theirs {other:.2f}"
        case "text":
            pairs = [
                (one[1], other[1]) for rows in zip(ours, theirs, strict=True) for one, other in zip(*rows, strict=True)
            ]
            same = all(math.isclose(one, other, rel_tol=SCORE_TOLERANCE) for one, other in pairs)
            return ("equal scores" if same else "WRONG: other scores") + f", overlap {overlap:.2f}"
        case _:
            return ("" if overlap >= FUSED_MIN else "WRONG: ") + f"overlap {overlap:.2f}"


def _share(right: Rows, found: Rows) -> float:
    return len({row[0] for row in right} & {row[0] for row in found}) / max(1, len(right))
