"""The check of a whole history."""

from __future__ import annotations

from collections.abc import Sequence

from tests.promises.history_checker.cycles import find_cycles
from tests.promises.history_checker.dependencies import find_dependencies
from tests.promises.history_checker.transactions import Anomaly, Transaction


def check(history: Sequence[Transaction]) -> list[Anomaly]:
    """Everything that strict serializability forbids and the history shows."""
    found = find_dependencies(history)
    return [*found.anomalies, *find_cycles(found)]
