"""`docs/user/open-tables.md` tells the truth: its programs run in the order of the page, and print what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "user" / "open-tables.md").read_text(encoding="utf-8")
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_programs_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for program in PROGRAM.findall(PAGE):
        exec(compile(program, "open-tables.md", "exec"), names)

    said = capsys.readouterr().out.splitlines()
    counted, commit, mirrored, by_hand = said
    assert (counted, mirrored, by_hand) == ("1", "3", "3")
    assert names["graph"].commit(commit).message == "nightly"
