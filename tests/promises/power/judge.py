"""The promise after a power cut, as a pure function of a worker's log and the recovered graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Step = Mapping[str, Any]
MAIN = "main"


@dataclass
class Acknowledged:
    """What one worker was promised: its branches, the commits and names on each, and the write that was cut off."""

    commits: dict[str, list[str]] = field(default_factory=lambda: {MAIN: []})
    names: dict[str, list[str]] = field(default_factory=lambda: {MAIN: []})
    open_write: Step | None = None

    def take(self, steps: Iterable[Step]) -> None:
        """Take over the steps of one run, in their order. What a run before it left open is settled by then."""
        for step in steps:
            if step["kind"] == "begin":
                self.open_write = step
            elif step["kind"] == "done":
                self.open_write = None
                self._done(step)

    def _done(self, step: Step) -> None:
        branch = step["branch"]
        match step["write"]:
            case "create":
                self.commits[branch], self.names[branch] = [], []
            case "rename":
                self.commits[step["new"]], self.names[step["new"]] = self.commits.pop(branch), self.names.pop(branch)
            case "delete":
                del self.commits[branch], self.names[branch]
            case _:
                self.commits[branch] += [step["commit"]] if step["commit"] else []
                self.names[branch] += step["names"]

    def settle(self, found: Mapping[str, Any]) -> bool | None:
        """Decide the write that was cut off by what is there: happened, or not; None if there was none."""
        step, self.open_write = self.open_write, None
        if step is None:
            return None
        if step["write"] == "merge":
            return False
        if step["write"] in ("create", "rename", "delete"):
            has_happened = step["branch"] not in found if step["write"] != "create" else step["branch"] in found
        else:
            has_happened = bool(set(step["names"]) & set(found[step["branch"]]["names"]))
        if has_happened:
            # The commit's id was never said; its names are looked for from here on.
            self._done({"commit": None, **step})
        return has_happened


def violations(promised: Acknowledged, worker: str, found: Mapping[str, Any]) -> list[str]:
    """Every promise that does not hold. Call it after `settle`: half a write then is a violation too."""
    wrong = []
    own = {name for name in found if name.startswith(f"{worker}-")} | {MAIN}
    if own != set(promised.commits):
        wrong.append(f"{worker}: branches {sorted(own)} instead of {sorted(promised.commits)}")
    for branch in own & set(promised.commits):
        wrong += _missing(worker, branch, "commits", promised.commits[branch], found[branch]["commits"])
        wrong += _missing(worker, branch, "names", promised.names[branch], found[branch]["names"])
    return wrong


def _missing(worker: str, branch: str, what: str, promised: Sequence[str], found: Sequence[str]) -> list[str]:
    lost = sorted(set(promised) - set(found))
    return [f"{worker}: {len(lost)} {what} of {branch} lost, such as {lost[0]}"] if lost else []
