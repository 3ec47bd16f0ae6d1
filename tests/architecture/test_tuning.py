"""Thresholds that tests vary are fields of `Tuning`, handed in with a graph; patched constants may only shrink."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields

import pytest

from omnigraph.core.tuning import Tuning
from tests.architecture.source_tree import REPOSITORY, modules

PATCHED_MAX = 10
"""Constants of modules that tests still patch. Lower it with every one that becomes a field or an argument."""

CONSTANT = re.compile(r"(?:.*\.)?_?[A-Z][A-Z0-9_]{3,}")
DEFAULT_VALUES = {"storage/tables/store.py": 1, "engine/graph.py": 2}
"""Modules that may make a tuning of defaults, and how often: the arguments at the top, where a graph is opened."""


def _patched(tree: ast.Module) -> Iterator[int]:
    """Lines that replace a constant: `setattr`, `patch.object`, `patch.multiple`, or an assignment to a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="setattr" | "object") | ast.Name(id="setattr" | "patch")):
                names = [item.value for item in node.args[:2] if isinstance(item, ast.Constant)]
                yield from (node.lineno for name in names if isinstance(name, str) and CONSTANT.fullmatch(name))
            case ast.Call(func=ast.Attribute(attr="multiple")):
                yield from (node.lineno for item in node.keywords if item.arg and CONSTANT.fullmatch(item.arg))
            case ast.Assign():
                yield from (
                    node.lineno
                    for target in node.targets
                    if isinstance(target, ast.Attribute) and CONSTANT.fullmatch(target.attr)
                )


def test_tests_patch_no_more_constants_than_before() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}:{line}"
        for path in sorted((REPOSITORY / "tests").rglob("*.py"))
        for line in _patched(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert len(found) == PATCHED_MAX, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        'monkeypatch.setattr(limits, "ROWS_MAX", 1)',
        'monkeypatch.setattr("omnigraph.exec.run.ROWS_MAX", 1)',
        'patch.object(limits, "ROWS_MAX", 1)',
        "patch.multiple(limits, ROWS_MAX=1)",
        "limits.ROWS_MAX = 1",
    ],
)
def test_every_way_to_patch_a_constant_is_counted(text: str) -> None:
    assert list(_patched(ast.parse(text))) == [1]


@pytest.mark.parametrize("name", [field.name for field in fields(Tuning)])
def test_every_field_is_read_and_says_why(name: str) -> None:
    [owner] = [module for module in modules() if module.path == "core/tuning.py"]
    documented = re.search(rf"^    {name}: .*\n    \"\"\"", owner.text, re.MULTILINE)
    assert documented, "unit and reason belong below the field"
    assert any(re.search(rf"(?:tuning|self)\.{name}\b", module.text) for module in modules())


def test_only_the_arguments_at_the_top_have_a_default() -> None:
    made = {module.path: len(re.findall(r"\bTuning\(\)", module.text)) for module in modules()}
    assert {path: count for path, count in made.items() if count} == DEFAULT_VALUES
