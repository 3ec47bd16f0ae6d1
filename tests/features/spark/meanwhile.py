"""Concurrent writes during a load, injected right after its input was checked, once or repeatedly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from omnigraph.spark.load.checks.on_cluster import Validation
from omnigraph.write.load import bulk as bulk_load

CHECKS: dict[str, tuple[Any, str]] = {"cluster": (Validation, "prepare"), "driver": (bulk_load, "_prepare")}
"""The function that checks the input, for each place of the checks."""


def meanwhile(monkeypatch: pytest.MonkeyPatch, checks: str, action: Callable[[int], object]) -> list[int]:
    """Call ``action`` with 0, 1, 2 ... whenever the input was checked; the numbers that it was called with so far."""
    owner, name = CHECKS[checks]
    prepare = getattr(owner, name)
    calls: list[int] = []

    def prepared(*values: Any) -> Any:
        ready = prepare(*values)
        calls.append(len(calls))
        action(calls[-1])
        return ready

    monkeypatch.setattr(owner, name, prepared)
    return calls
