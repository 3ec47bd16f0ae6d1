"""A working directory with two everyday files."""

from pathlib import Path

import pytest

from tests.features.infer.files import write_files


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
