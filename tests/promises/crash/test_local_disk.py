"""A writer on local disk, killed or failed at its file system calls."""

import errno
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.promises.crash.sweep import AGED, FSYNC, UNSYNCED, LocalSweep, Place, SessionSweep, sample, walk
from tests.promises.crash.writers import CREATE, OFFERED, WRITERS
from tests.support.faults.fault import FailAt, FailFrom, FileFault, KillAt, PartialWriteAt

pytestmark = pytest.mark.usefixtures("tracing")


def kills(positions: Iterable[int], last: int) -> list[FileFault]:
    """Before a call is the same moment as after the one before it; only the last has an after of its own."""
    return [*(KillAt(n) for n in positions), KillAt(last, after=True)]


ERRORS: dict[str, Callable[[int], FileFault]] = {
    "eio": lambda n: FailAt(n, errno.EIO),
    "broken": lambda n: FailFrom(n, errno.EIO),
    "full": lambda n: FailFrom(n, errno.ENOSPC),
}
"""One bad call; a disk that is broken from here on; a disk that is full from here on."""


@pytest.mark.parametrize("writer", WRITERS)
def test_a_killed_or_failed_writer_leaves_the_old_or_the_new_graph(writer: str, tmp_path: Path) -> None:
    sweep = LocalSweep(writer, tmp_path)
    [somewhere] = sample(writer, len(sweep.calls), 1)
    faults = (KillAt, *ERRORS.values())
    walk(sweep, [faults[list(WRITERS).index(writer) % len(faults)](somewhere)])


def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    sweep = SessionSweep(tmp_path)
    walk(sweep, [KillAt(n) for n in sample(CREATE, len(sweep.calls), 4)])


@pytest.mark.parametrize("every", [40, pytest.param(1, marks=[pytest.mark.long, pytest.mark.part("kill-session")])])
def test_a_killed_holder_of_the_turn_publishes_what_others_offered_with_its_own_or_nothing(
    tmp_path: Path, every: int
) -> None:
    sweep = LocalSweep(OFFERED, tmp_path)
    walk(sweep, kills(range(1, len(sweep.calls) + 1, every), len(sweep.calls)))


@pytest.mark.long
@pytest.mark.part("kill-session")
def test_what_was_acknowledged_is_there_after_a_kill_at_any_call(tmp_path: Path) -> None:
    sweep = SessionSweep(tmp_path)
    walk(sweep, kills(range(1, len(sweep.calls) + 1), len(sweep.calls)))


@pytest.mark.long
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    "place",
    [
        pytest.param(FSYNC, marks=pytest.mark.part("kill-fsync"), id="fsync"),
        pytest.param(AGED, marks=pytest.mark.part("kill-aged"), id="aged"),
        pytest.param(UNSYNCED, marks=pytest.mark.part("kill-os"), id="os"),
    ],
)
def test_a_kill_at_any_call_leaves_the_old_or_the_new_graph(writer: str, place: Place, tmp_path: Path) -> None:
    if writer == CREATE and place.is_aged:
        pytest.skip("a graph that is being created has no age")
    sweep = LocalSweep(writer, tmp_path, place)
    endings = walk(sweep, kills(range(1, len(sweep.calls) + 1), len(sweep.calls)))
    assert all(ending.killed for ending in endings)


@pytest.mark.long
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("error", [pytest.param(name, marks=pytest.mark.part(f"error-{name}")) for name in ERRORS])
def test_a_failure_of_any_call_is_a_typed_refusal_or_harmless(writer: str, error: str, tmp_path: Path) -> None:
    sweep = LocalSweep(writer, tmp_path)
    walk(sweep, [ERRORS[error](n) for n in range(1, len(sweep.calls) + 1)])


@pytest.mark.long
@pytest.mark.part("half-writes")
@pytest.mark.parametrize("writer", WRITERS)
def test_half_a_write_is_never_taken_for_a_whole_one(writer: str, tmp_path: Path) -> None:
    sweep = LocalSweep(writer, tmp_path)
    writes = [call.index for call in sweep.calls if "write" in call.name]
    walk(sweep, [PartialWriteAt(n, kill) for n in writes for kill in (False, True)])
