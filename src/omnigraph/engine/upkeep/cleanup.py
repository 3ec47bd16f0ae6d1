"""Cleanup: from the caller's rules to the result, and the choice of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from omnigraph.engine import plugs
from omnigraph.engine.durations import Duration, duration_us
from omnigraph.engine.engine_choice import AUTO, BY_SPARK, EMBEDDED, check_engine, has_spark
from omnigraph.engine.upkeep.cleanup_result import CleanupResult
from omnigraph.errors import UsageError
from omnigraph.history.retention import Policy
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.sweep import Needs, Swept, Terms
from omnigraph.write import limits
from omnigraph.write.context import WriteContext
from omnigraph.write.upkeep.cleanup import CleanupSettings, Sweeper, cleanup, sweep_here

SPARK_FROM_VERSIONS = 100_000
"""Referenced table versions from which ``auto`` takes Spark: cleanup opens every one of them."""


def clean(
    context: WriteContext,
    keep: int | None,
    older_than: Duration | None,
    grace: Duration | None,
    engine: str,
    spark: Any,
    progress: Callable[[int], None] | None,
    *,
    dry_run: bool,
) -> CleanupResult:
    """Validate the rules, and run."""
    if keep is not None and keep < 1:
        raise UsageError(f"{keep} commits cannot be kept", hint="the head always stays: keep 1 or more")
    policy = Policy(keep, None if older_than is None else duration_us(older_than))
    settings = CleanupSettings(policy, limits.GRACE_US if grace is None else duration_us(grace), dry_run)
    outcome = cleanup(context, settings, _sweeper(engine, spark), progress)
    return CleanupResult.of(settings, outcome)


def _sweeper(engine: str, spark: Any) -> Sweeper:
    if check_engine(engine) == BY_SPARK:
        return plugs.cluster().sweeper(spark)
    return _sweep_by_size if engine == AUTO else sweep_here


def _sweep_by_size(store: Store, needs: Sequence[Needs], terms: Terms) -> Iterable[Swept]:
    is_large = sum(len(item.versions) for item in needs) >= SPARK_FROM_VERSIONS
    return _sweeper(BY_SPARK if is_large and has_spark() else EMBEDDED, None)(store, needs, terms)
