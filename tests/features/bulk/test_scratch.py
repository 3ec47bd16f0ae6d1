"""Directories beside a load: gone with it, and gone with the next one if it was killed."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from omnigraph.write.load.spill_directory import scratch_directory

KILLED = """
import os, signal
from omnigraph.write.load.spill_directory import scratch_directory
with scratch_directory() as directory:
    open(os.path.join(directory, "spill"), "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_left_goes_with_the_next_load_and_nothing_else_does(temporary: Path) -> None:
    strange = temporary / "omnigraph-load-of-somebody-else"
    strange.mkdir()
    env = {**os.environ, "TMPDIR": str(temporary)}
    killed = subprocess.run([sys.executable, "-c", KILLED], env=env, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = set(temporary.iterdir()) - {strange}
    assert (left / "spill").exists()
    with scratch_directory() as mine:
        assert not left.exists()
        with scratch_directory() as other:
            assert set(temporary.iterdir()) == {strange, Path(mine), Path(other)}
    assert set(temporary.iterdir()) == {strange}


def test_a_directory_goes_also_when_the_load_fails(temporary: Path) -> None:
    with pytest.raises(ZeroDivisionError), scratch_directory():
        raise ZeroDivisionError
    assert list(temporary.iterdir()) == []
