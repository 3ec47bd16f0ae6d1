"""A writer on local disk, killed or failed at its file system calls."""

import errno
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.crash.sweep import LocalSweep, sample, walk
from tests.crash.writers import WRITERS
from tests.faults.fault import FailAt, FailFrom, FileFault, KillAt, PartialWriteAt

pytestmark = pytest.mark.usefixtures("tracing")


def kills(positions: Iterable[int], last: int) -> list[FileFault]:
    """Before a call is the same moment as after the one before it; only the last has an after of its own."""
    return [*(KillAt(n) for n in positions), KillAt(last, after=True)]


def failures(positions: Iterable[int]) -> list[FileFault]:
    """One bad call; a disk that is broken from here on; a disk that is full from here on."""
    return [
        fault for n in positions for fault in (FailAt(n, errno.EIO), FailFrom(n, errno.EIO), FailFrom(n, errno.ENOSPC))
    ]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_killed_or_failed_writer_leaves_the_old_or_the_new_graph(writer: str, tmp_path: Path) -> None:
    sweep = LocalSweep(writer, tmp_path)
    killed, failed = sample(writer, len(sweep.calls), 2)
    kinds = (FailAt(failed, errno.EIO), FailFrom(failed, errno.EIO), FailFrom(failed, errno.ENOSPC))
    walk(sweep, [KillAt(killed), kinds[list(WRITERS).index(writer) % len(kinds)]])


@pytest.mark.long
@pytest.mark.parametrize("writer", WRITERS)
def test_a_kill_at_any_call_leaves_the_old_or_the_new_graph(writer: str, tmp_path: Path) -> None:
    sweep = LocalSweep(writer, tmp_path)
    endings = walk(sweep, kills(range(1, len(sweep.calls) + 1), len(sweep.calls)))
    assert all(ending.killed for ending in endings)


@pytest.mark.long
@pytest.mark.parametrize("writer", WRITERS)
def test_a_failure_of_any_call_is_a_typed_refusal_or_harmless(writer: str, tmp_path: Path) -> None:
    sweep = LocalSweep(writer, tmp_path)
    walk(sweep, failures(range(1, len(sweep.calls) + 1)))


@pytest.mark.long
@pytest.mark.parametrize("writer", WRITERS)
def test_half_a_write_is_never_taken_for_a_whole_one(writer: str, tmp_path: Path) -> None:
    sweep = LocalSweep(writer, tmp_path)
    writes = [call.index for call in sweep.calls if "write" in call.name]
    walk(sweep, [PartialWriteAt(n, kill) for n in writes for kill in (False, True)])
