"""`docs/user/frameworks.md` tells the truth: its programs run in the order of the page."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra langchain")
pytest.importorskip("langgraph.checkpoint.base", reason="needs the extra langgraph")
pytest.importorskip("llama_index.core", reason="needs the extra llama-index")

PAGE = Path(__file__).resolve().parents[3] / "docs" / "user" / "frameworks.md"
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_programs_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for program in PROGRAM.findall(PAGE.read_text(encoding="utf-8")):
        exec(compile(program, PAGE.name, "exec"), names)
    assert capsys.readouterr().out.splitlines() == [
        "['2']",
        "['1']",
        "{'text': 'likes tea'}",
        "[('Ada', 'DESCRIBED', 'Engine')]",
    ]
