"""A cleanup that is killed at any point does no harm, and the next one finishes its work."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

import omnigraph
from tests.promises.cleanup.graphs import check_tidy
from tests.promises.crash.observe import look
from tests.promises.crash.sweep import PROGRAM, sample
from tests.promises.crash.writers import build
from tests.support.faults import python, run, trace
from tests.support.faults.fault import KillAt

pytestmark = pytest.mark.usefixtures("tracing")

WRITER = "cleanup"


def _walk(tmp_path: Path, count: int | None) -> None:
    base, root = tmp_path / "base", tmp_path / "graph"
    build(WRITER, base)
    seen = look(str(base))
    shutil.copytree(base, root)
    calls = len(trace(python(PROGRAM, WRITER, root), root=root, warm=True).calls)
    positions: Iterable[int] = range(1, calls + 1) if count is None else sample(WRITER, calls, count)
    for number in positions:
        shutil.rmtree(root)
        shutil.copytree(base, root)
        assert run(python(PROGRAM, WRITER, root), root=root, fault=KillAt(number), warm=True).killed
        assert look(str(root)) == seen
        graph = omnigraph.open(root, durability="os")
        assert graph.verify().is_clean, number
        graph.cleanup(keep=2, grace="0s")
        check_tidy(graph)
        assert look(str(root)) == seen


def test_a_killed_cleanup_is_finished_by_the_next(tmp_path: Path) -> None:
    _walk(tmp_path, 5)


@pytest.mark.long
def test_a_cleanup_killed_at_any_call_is_finished_by_the_next(tmp_path: Path) -> None:
    _walk(tmp_path, None)
