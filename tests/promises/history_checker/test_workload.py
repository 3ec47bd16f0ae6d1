"""Many processes that die and come back, with merges and maintenance beside them, look like one after the other."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import omnigraph
from tests.promises.crash.cells import CELLS
from tests.promises.history_checker.check import check
from tests.promises.history_checker.transactions import Outcome, Transaction
from tests.promises.history_checker.workload import Size, Workload

pytestmark = pytest.mark.usefixtures("tracing")

SAMPLE = Size(("main", "main", "side"), transactions=70, life_transactions=70)
EIGHT = Size(("main",) * 4 + ("left",) * 2 + ("right",) * 2, transactions=320, life_transactions=60)
"""8 x 320 transactions; ten rounds are more than 25,000."""


def _check(tmp_path: Path, size: Size, seed: int) -> tuple[Workload, list[Transaction]]:
    workload = Workload(tmp_path, size, seed)
    history = workload.run()
    anomalies = check(history)
    outcomes = Counter(transaction.outcome for transaction in history)
    CELLS.notes.append(
        f"round {seed}: {outcomes[Outcome.OK]} transactions acknowledged, {outcomes[Outcome.FAILED]} refused, "
        f"{outcomes[Outcome.UNKNOWN]} unknown; {workload.deaths} processes killed, {workload.failures} failed calls, "
        f"{workload.merges} merges; {len(anomalies)} anomalies"
    )
    assert anomalies == []
    assert outcomes[Outcome.OK] >= len(size.branches) * size.transactions
    report = omnigraph.open(workload.uri).verify(deep=True)
    assert report.is_clean, report.problems
    return workload, history


def test_three_processes_that_die_are_strictly_serializable(tmp_path: Path) -> None:
    _check(tmp_path, SAMPLE, seed=1)


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.part(f"history-{1 + seed // 5}")) for seed in range(10)]
)
def test_eight_processes_that_die_are_strictly_serializable(tmp_path: Path, seed: int) -> None:
    workload, history = _check(tmp_path, EIGHT, seed)
    assert workload.deaths > 10
    assert workload.failures > 0
    assert workload.merges > 0
    # All clients have stopped, so cleanup may delete at once; the heads stay as they were.
    omnigraph.open(workload.uri).cleanup(keep=3, grace="0s")
    assert check([*history, *workload.final_reads()]) == []
    assert omnigraph.open(workload.uri).verify(deep=True).is_clean


@pytest.mark.long
@pytest.mark.part("history-1")
def test_clients_that_do_not_validate_what_they_read_are_caught(tmp_path: Path) -> None:
    """The control: without `if_commit` the same clients lose updates, and the checker sees it."""
    history = Workload(tmp_path, replace(EIGHT, transactions=60, is_validated=False), seed=99).run()
    assert "lost update" in {anomaly.kind for anomaly in check(history)}
