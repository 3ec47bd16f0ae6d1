"""Apply, killed at any point: the next run finishes, nothing is applied twice, and nothing is left to plan."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.promises.cluster.interrupted import check, finish, prepare
from tests.support.faults import KillAt, python, run, trace
from tests.support.faults.s3 import Server

PROGRAM = Path(__file__).with_name("apply_once.py")
SAMPLE = 5
"""Positions that are tried in every run of the suite."""


def spread(positions: int, count: int) -> list[int]:
    """Some positions from 1 on, evenly spread, the last one included."""
    return sorted({max(1, positions * number // count) for number in range(1, count + 1)})


class LocalApply:
    """A cluster on local disk, copied for every position."""

    def __init__(self, directory: Path) -> None:
        self._base, self._copy = directory / "base", directory / "copy"
        prepare(self._base)
        undisturbed = trace(python(PROGRAM, self._fresh()), root=self._copy, warm=True)
        assert undisturbed.returncode == 0, undisturbed.stderr
        assert json.loads(undisturbed.stdout) == {"converged": True, "codes": []}
        check(str(self._copy), {})
        self.positions = len(undisturbed.calls)

    def _fresh(self) -> Path:
        shutil.rmtree(self._copy, ignore_errors=True)
        shutil.copytree(self._base, self._copy)
        return self._copy

    def strike(self, fault: KillAt) -> None:
        directory = self._fresh()
        result = run(python(PROGRAM, directory), root=directory, fault=fault, warm=True)
        try:
            assert result.killed, result.stderr
            finish(directory, str(directory))
        except Exception as error:
            error.add_note(f"{fault}: {result.hit}")
            raise


class BucketApply:
    """A cluster in a bucket, copied for every position."""

    def __init__(self, directory: Path, server: Server) -> None:
        self._directory, self._server = directory, server
        self._bucket = server.bucket()
        self._options = server.storage_options()
        prepare(directory, self._bucket.uri("base"), self._options)
        self._copies = 0
        undisturbed = server.run(python(PROGRAM, self._fresh()), warm=True)
        assert undisturbed.returncode == 0, undisturbed.stderr
        check(self._uri(), self._options)
        self.positions = len(undisturbed.requests)

    def _uri(self) -> str:
        return self._bucket.uri(f"copy{self._copies}")

    def _fresh(self) -> Path:
        self._bucket.clear(f"copy{self._copies}/")
        self._copies += 1
        self._bucket.copy("base", f"copy{self._copies}")
        config = self._directory / "cluster.yaml"
        text = config.read_text().partition("storage:")[0]
        config.write_text(f"{text}storage: {self._uri()}\n")
        return self._directory

    def strike(self, fault: KillAt) -> None:
        directory = self._fresh()
        result = self._server.run(python(PROGRAM, directory), fault=fault, warm=True)
        try:
            assert result.killed, result.stderr
            finish(directory, self._uri(), self._options)
        except Exception as error:
            error.add_note(f"{fault}: {result.hit}")
            raise


def walk(place: LocalApply | BucketApply, faults: Iterable[KillAt]) -> None:
    """Strike with every fault; all that went wrong is shown, not only the first."""
    wrong = []
    for fault in faults:
        try:
            place.strike(fault)
        except Exception as error:
            wrong.append("\n".join([f"{type(error).__name__}: {error}"[:600], *error.__notes__]))
    assert not wrong, f"{len(wrong)} positions:\n\n" + "\n\n".join(wrong)


@pytest.mark.usefixtures("tracing")
def test_a_killed_apply_is_finished_by_the_next_one(tmp_path: Path) -> None:
    place = LocalApply(tmp_path)
    walk(place, [KillAt(n) for n in spread(place.positions, SAMPLE)])


@pytest.mark.long
@pytest.mark.usefixtures("tracing")
def test_an_apply_killed_at_any_call_is_finished_by_the_next_one(tmp_path: Path) -> None:
    place = LocalApply(tmp_path)
    # Before a call is the same moment as after the one before it; only the last has an after of its own.
    walk(place, [*(KillAt(n) for n in range(1, place.positions + 1)), KillAt(place.positions, after=True)])


@pytest.mark.s3
@pytest.mark.long
def test_an_apply_killed_at_any_request_to_a_bucket_is_finished_by_the_next_one(
    tmp_path: Path, s3_server: Server
) -> None:
    place = BucketApply(tmp_path, s3_server)
    walk(place, [KillAt(n, after) for n in range(1, place.positions + 1) for after in (False, True)])
