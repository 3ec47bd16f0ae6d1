"""The page about documents says what is true: its examples are run, and its tables list every key and option."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

import omnigraph
from omnigraph.engine.documents.options import DocumentOptions
from omnigraph.ingest.documents.pipeline import ChunkRule, DocumentRule, MentionRule, read_pipeline
from tests.features.cli.run import REPOSITORY, run

PAGE = (REPOSITORY / "docs" / "user" / "documents.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for program in blocks("python"):
        exec(compile(program, "documents.md", "exec"), names)
    [text] = blocks("yaml")
    read_pipeline(yaml.safe_load(text), omnigraph.open("library.omni").catalog())
    Path("documents.yaml").write_text(text)
    shown = run("documents", "load", "library.omni", "--data", "texts/", "--pipeline", "documents.yaml", "--dry-run")
    assert "1 document (0 new, 1 changed, 0 unchanged), 1 chunk, 1 mention" in shown.output


def test_every_key_and_option_is_in_the_tables() -> None:
    for prefix, rule in (("documents", DocumentRule), ("chunks", ChunkRule), ("mentions[]", MentionRule)):
        for field in fields(rule):
            assert f"`{prefix}.{field.name}`" in PAGE
    for field in fields(DocumentOptions):
        assert field.name in ("pipeline", "engine", "spark") or f"`{field.name}`" in PAGE, field.name
