"""Progress bars on a terminal. Without a terminal nothing is drawn, and the drawing library is not imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

    from omnigraph.spark.cluster.progress import LoadProgress

Report = Callable[[int, int], None]
"""Callback with the progress towards the total, and the number of items processed."""


def _silent(done: int, count: int) -> None:
    """Draw nothing."""


@contextmanager
def progress_bar(label: str, things: str, *, total: int | None, quiet: bool) -> Iterator[Report]:
    """A bar on standard error while the block runs; without a ``total`` only counts are shown."""
    if quiet or not sys.stderr.isatty():
        yield _silent
        return
    with _drawing() as drawing:
        task = drawing.add_task(label, total=total, counted="")

        def report(done: int, count: int) -> None:
            elapsed = drawing.tasks[0].elapsed or 0.0
            drawing.update(task, completed=done, counted=counted(count, things, elapsed))

        yield report


@contextmanager
def stage_bar(things: str, *, quiet: bool) -> Iterator[Callable[[LoadProgress], None] | None]:
    """A bar for stages of parallel tasks; None without a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with _drawing() as drawing:
        task = drawing.add_task("starting Spark", total=None, counted="")

        def report(seen: LoadProgress) -> None:
            rows = f", {counted(seen.rows, things, seen.seconds, seen.reused)}" if seen.rows else ""
            files = f", {seen.files:,} files, {seen.bytes / 1_000_000:,.1f} MB" if seen.files else ""
            tasks = f"{seen.tasks_done}/{seen.tasks} tasks{rows}{files}"
            drawing.update(
                task, description=seen.stage, completed=seen.tasks_done, total=seen.tasks or None, counted=tasks
            )

        yield report


def counted(count: int, things: str, seconds: float, reused: int = 0) -> str:
    """The number of items and, after one second, the rate without the ``reused`` items of an earlier run."""
    rate = f" ({(count - reused) / seconds:,.0f}/s)" if seconds > 1 and count > reused else ""
    return f"{count:,} {things}{rate}"


def _drawing() -> Progress:
    """The drawing library's bar, imported only when a bar is drawn."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[counted]}"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
