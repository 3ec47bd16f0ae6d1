"""Verify reads what is on disk once: it costs a file, not a commit for each branch that has it."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.manifest import commit_log
from omnigraph.manifest.reader import Manifests
from omnigraph.write.upkeep.entity_checks import EntityChecks
from tests.promises.cost.counting import PERSON, SCHEMA, grow


def _counting(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts of commits that are decoded, of states that are read, and of tables whose keys are read."""
    counts: Counter[str] = Counter()
    for place, name, what in (
        (commit_log, "_commit", "commits"),
        (Manifests, "version", "states"),
        (EntityChecks, "_repeated", "tables"),
    ):
        monkeypatch.setattr(place, name, _counted(getattr(place, name), counts, what))
    return counts


def _counted(run: Callable[..., Any], counts: Counter[str], what: str) -> Callable[..., Any]:
    def counted(*arguments: Any) -> Any:
        counts[what] += 1
        return run(*arguments)

    return counted


def test_a_branch_costs_verify_only_what_it_does_not_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=Tuning(recent_commits_max=4))
    grow(graph, 40)
    counts = _counting(monkeypatch)
    assert graph.verify().is_clean
    alone = dict(counts)
    assert alone["states"] < 60
    for number in range(20):
        graph.create_branch(f"b{number}")
        graph.mutate(PERSON, {"n": f"own-{number}"}, branch=f"b{number}")
    counts.clear()
    assert graph.verify().is_clean
    assert counts["commits"] <= alone["commits"] + 20
    assert counts["states"] <= alone["states"] + 3 * 20
    # City and Account are shared; both types of edges depend on Person.
    assert counts["tables"] == alone["tables"] + 3 * 20
