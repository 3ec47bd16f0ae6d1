"""``cleanup`` from what a caller says to what was done; who lists and deletes is chosen here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from omnigraph.core.durations import Duration, duration_us
from omnigraph.engine.engine_choice import AUTO, BY_SPARK, EMBEDDED, check_engine, has_spark
from omnigraph.engine.extensions import SPARK, extension
from omnigraph.engine.upkeep.cleanup_result import CleanupResult
from omnigraph.errors import UsageError
from omnigraph.history.retention import Policy
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.sweep import Needs, Swept, Terms
from omnigraph.write import limits
from omnigraph.write.context import WriteContext
from omnigraph.write.upkeep.cleanup import CleanupSettings, Sweeper, cleanup, sweep_here

SPARK_FROM_VERSIONS = 100_000
"""Table versions that are needed, each of which is opened, from which ``auto`` takes Spark."""


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
    """Check what was asked for, and run."""
    if keep is not None and keep < 1:
        raise UsageError(f"{keep} commits cannot be kept", hint="the head always stays: keep 1 or more")
    policy = Policy(keep, None if older_than is None else duration_us(older_than))
    settings = CleanupSettings(policy, limits.GRACE_US if grace is None else duration_us(grace), dry_run)
    outcome = cleanup(context, settings, _sweeper(engine, spark), progress)
    return CleanupResult.of(settings, outcome)


def _sweeper(engine: str, spark: Any) -> Sweeper:
    if check_engine(engine) == BY_SPARK:
        on_spark: Sweeper = extension(SPARK).sweeper(spark)
        return on_spark
    return _sweep_by_size if engine == AUTO else sweep_here


def _sweep_by_size(store: Store, needs: Sequence[Needs], terms: Terms) -> Iterable[Swept]:
    is_large = sum(len(item.versions) for item in needs) >= SPARK_FROM_VERSIONS
    return _sweeper(BY_SPARK if is_large and has_spark() else EMBEDDED, None)(store, needs, terms)
