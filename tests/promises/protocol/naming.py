"""Changes of branch names by several parties that are interrupted between any two steps, and what they may lead to.

The specification is linearizability: whatever the schedule, results and final names are those of the same changes made
one after the other, in some order. A change that was stopped may have happened or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any
from unittest.mock import patch

import omnigraph
from omnigraph.errors import AlreadyExistsError, NotFoundError
from omnigraph.manifest import branches, naming
from omnigraph.manifest.branches import Ref
from omnigraph.manifest.reader import Manifests

DONE, EXISTS, MISSING, STOPPED = "done", "exists", "missing", "stopped"
Names = Mapping[str, str]
"""Branch names with the incarnation that each leads to."""


@dataclass(frozen=True)
class Change:
    """One wish: create ``name``, delete it, or rename it to ``new_name``."""

    verb: str
    name: str
    new_name: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, self.name, self.new_name)))


CHANGES = [
    *(Change(verb, name) for verb in ("create", "delete") for name in ("x", "y")),
    Change("rename", "x", "y"),
    Change("rename", "y", "x"),
    Change("rename", "x", "z"),
]


@dataclass(frozen=True)
class Answer:
    """The response to one client. ``incarnation`` is the one that a successful create makes."""

    change: Change
    outcome: str
    incarnation: str


class Stopped(BaseException):
    """The end of a process, at a point between two steps."""


@dataclass
class Steps:
    """Counts the points between the steps of one party, and does something at one of them."""

    at: int = 0
    action: Callable[[], None] = lambda: None
    seen: int = 0

    def point(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            self.action()


class SteppedObjects:
    """Small files, with a point before and after every access to a ref."""

    def __init__(self, inner: Any, steps: Steps) -> None:
        self._inner, self._steps = inner, steps

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return _stepped(found, self._steps) if name in ("create", "delete", "delete_if", "read") else found


def _stepped(function: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    def called(*arguments: Any, **options: Any) -> Any:
        steps.point()
        answer = function(*arguments, **options)
        steps.point()
        return answer

    return called


@dataclass
class Party:
    """A process of its own, as far as the graph can tell: a handle with memory of its own."""

    uri: str
    steps: Steps = field(default_factory=Steps)

    def make(self, change: Change) -> Answer:
        """Try a change."""
        graph = omnigraph.open(self.uri, durability="os")
        graph._store.objects = SteppedObjects(graph._store.objects, self.steps)  # type: ignore[assignment]
        incarnation = graph._context.ids.new_id()
        try:
            with _stepped_swaps(graph._manifests, self.steps):
                _make(graph, change, incarnation)
        except AlreadyExistsError:
            return Answer(change, EXISTS, incarnation)
        except NotFoundError:
            return Answer(change, MISSING, incarnation)
        except Stopped:
            return Answer(change, STOPPED, incarnation)
        return Answer(change, DONE, incarnation)


def _make(graph: omnigraph.Graph, change: Change, incarnation: str) -> None:
    manifests = graph._manifests
    match change.verb:
        case "create":
            ref = Ref(change.name, incarnation, graph.snapshot().commit_id, None, 0)
            naming.create_branch(manifests, ref, lambda: manifests.fresh(manifests.stamp.graph_id))
        case "delete":
            naming.delete_branch(manifests, change.name)
        case "rename":
            naming.rename_branch(manifests, change.name, change.new_name, incarnation)


@contextmanager
def _stepped_swaps(manifests: Manifests, steps: Steps) -> Iterator[None]:
    """A point before and after every swap and every new manifest of this party. Parties inside keep their own."""
    with (
        patch.object(naming, "replace_state", _only_for(manifests, naming.replace_state, steps)),
        patch.object(naming, "create_manifest", _only_for(manifests.store, naming.create_manifest, steps)),
    ):
        yield


def _only_for(owner: object, function: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    stepped = _stepped(function, steps)
    return lambda first, *others: stepped(first, *others) if first is owner else function(first, *others)


def names(uri: str) -> dict[str, str]:
    """The names that count, as a stranger sees them."""
    manifests = omnigraph.open(uri, durability="os")._manifests
    found = [item for item in branches.every_branch(manifests) if isinstance(item, tuple)]
    return {ref.name: ref.incarnation for ref, _ in found if ref.name != "main"}


def run_serially(start: Names, answers: Sequence[Answer]) -> Names | None:
    """The names after these changes in this order, or None if one of the answers would have been another.

    A rename is idempotent: it may find that an equal one, of another process, has done what it was to do.
    """
    found = dict(start)
    for place, answer in enumerate(answers):
        is_repeated = answer.change.verb == "rename" and any(
            (earlier.change, earlier.outcome) == (answer.change, DONE) for earlier in answers[:place]
        )
        attempted = dict(found)
        if _serial_outcome(attempted, answer) == answer.outcome:
            found = attempted
        elif answer.outcome != DONE or not is_repeated:
            return None
    return found


def _serial_outcome(found: dict[str, str], answer: Answer) -> str:
    change = answer.change
    if change.verb == "create":
        if change.name in found:
            return EXISTS
        found[change.name] = answer.incarnation
        return DONE
    if change.name not in found:
        return MISSING
    if change.verb == "rename":
        if change.new_name in found:
            return EXISTS
        found[change.new_name] = found[change.name]
    del found[change.name]
    return DONE


def allowed(start: Names, answers: Sequence[Answer]) -> list[Names]:
    """Every final state that is linearizable: the answers in some order, the stopped ones made or left out."""
    stopped = [answer for answer in answers if answer.outcome == STOPPED]
    others = [answer for answer in answers if answer.outcome != STOPPED]
    made = [Answer(answer.change, DONE, answer.incarnation) for answer in stopped]
    results = []
    for chosen in [others, *([[*others, *made]] if stopped else [])]:
        results += [run_serially(start, order) for order in permutations(chosen)]
    return [result for result in results if result is not None]
