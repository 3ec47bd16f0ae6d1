"""Temporary directories: gone with their process, and gone with the next one if it was killed."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from omnigraph.storage.scratch import ScratchDirectory

KILLED = """
import os, signal
from omnigraph.storage.scratch import ScratchDirectory
directory = ScratchDirectory("omnigraph-load-")
open(os.path.join(directory.path, "spill"), "w").close()
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
    with closing(ScratchDirectory("omnigraph-load-")) as mine:
        assert not left.exists()
        with closing(ScratchDirectory("omnigraph-load-")) as other:
            assert set(temporary.iterdir()) == {strange, Path(mine.path), Path(other.path)}
    assert set(temporary.iterdir()) == {strange}


def test_a_directory_goes_with_its_owner_at_the_latest(temporary: Path) -> None:
    directory = ScratchDirectory("omnigraph-outbox-")
    assert list(temporary.iterdir()) == [Path(directory.path)]
    del directory
    assert list(temporary.iterdir()) == []
