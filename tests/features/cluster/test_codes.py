"""The page about clusters lists every code that the control plane uses, and no other."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.source_tree import modules
from tests.features.cli.run import REPOSITORY

PAGE = (REPOSITORY / "docs" / "user" / "cluster.md").read_text()
CODE = re.compile(r"[a-z]+(_[a-z]+)+")
CALLS = frozenset({"problem", "warning", "note", "Refused", "Decision", "StepResult", "_failed", "_content"})
"""Functions that take a code."""


def _constants(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and CODE.fullmatch(part.value):
            yield part.value


def _codes() -> set[str]:
    found: set[str] = set()
    for module in modules():
        if module.room != "cluster" or module.path == "cluster/serving.py":
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                parts = node.args[:2] if name in CALLS else []
                parts += [item.value for item in node.keywords if item.arg == "reason"]
                found |= {code for part in parts for code in _constants(part)}
            elif isinstance(node, ast.FunctionDef) and node.name == "_code":
                for part in ast.walk(node):
                    found |= set(_constants(part)) if isinstance(part, ast.Return) else set()
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("code", "_ROLLED_FORWARD"):
                found |= set(_constants(node.value))
    return found


def test_every_code_is_listed_once() -> None:
    section = PAGE.split("\n## Codes\n")[1].split("\n## ")[0]
    listed = re.findall(r"`([a-z]+(?:_[a-z]+)+)`", section)
    assert sorted(listed) == sorted(_codes())
