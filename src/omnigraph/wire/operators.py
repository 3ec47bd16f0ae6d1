"""Timings of operators as JSON: the member ``profile`` of queries and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.core.profile import OperatorProfile


def operators_json(operators: Sequence[OperatorProfile]) -> list[dict[str, Any]]:
    """The figures of every operator, in the order of the result."""
    return [asdict(item) for item in operators]
