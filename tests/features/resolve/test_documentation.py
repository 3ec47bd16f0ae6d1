"""The page about entity resolution says what is true: its examples are run, and its tables list every rule."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from omnigraph.exec.resolve.rules import BlockFunction, Comparison, Normalize, ResolveRules, Similarity, Survivor
from tests.features.cli.run import REPOSITORY, run

PAGE = (REPOSITORY / "docs" / "user" / "resolving.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for program in blocks("python"):
        exec(compile(program, "resolving.md", "exec"), names)
    said = capsys.readouterr().out.splitlines()
    shown = [line.removeprefix("# ") for line in PAGE.splitlines() if line.startswith("# <Planned")]
    assert said[0] == shown[0]
    [rules] = blocks("yaml")
    (tmp_path / "resolve.yaml").write_text(rules)
    checked = run("resolve", "people.omni", "--rules", "resolve.yaml", "--dry-run", "--json")
    assert checked.exit_code == 0, checked.output


def test_every_rule_is_in_the_tables() -> None:
    optional = [field.name for field in fields(Comparison) if field.name not in ("property", "by", "within")]
    ruled = [field.name for field in fields(ResolveRules) if field.name not in ("compare", "blocks")]
    for name in (*optional, *ruled, *Similarity):
        assert re.search(rf"^\| `{name}`", PAGE, re.MULTILINE), name
    for function in BlockFunction:
        assert function is BlockFunction.VALUE or f"| `{function}(" in PAGE
    assert all(f"`{word}`" in PAGE for word in (*Normalize, *Survivor))
    usual = ResolveRules(())
    assert f"| `threshold` | smallest score of a match | {usual.threshold:g} |" in PAGE
    assert yaml.safe_load(blocks("yaml")[0])["type"] == "Person"
