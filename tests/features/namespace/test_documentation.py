"""`docs/user/open-tables.md` tells the truth: its programs run in the order of the page, and print what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import omnigraph

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "user" / "open-tables.md").read_text(encoding="utf-8")
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_programs_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for program in PROGRAM.findall(PAGE):
        exec(compile(program, "open-tables.md", "exec"), names)

    said = capsys.readouterr().out.splitlines()
    counted, commit, mirrored, in_place, by_hand = said
    assert (counted, mirrored, in_place, by_hand) == ("1", "3", "3", "3")
    assert names["graph"].commit(commit).message == "nightly"


def test_the_snippet_of_the_page_about_files_reads_a_table_without_this_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    graph = omnigraph.create("people.omni", "node Person { name: String @key }")
    graph.load([{"type": "Person", "data": {"name": "ann"}}], mode="append")
    [program] = PROGRAM.findall((DOCS / "dev" / "data-on-disk.md").read_text(encoding="utf-8"))

    exec(compile(program, "data-on-disk.md", "exec"), {})

    assert "omnigraph" not in program.replace('"omnigraph"', "")
    assert capsys.readouterr().out == "1\n"
