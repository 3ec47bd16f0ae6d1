"""Hints are written for their reader: a Python program is never sent to a shell, nor the reverse.

A hint that differs between the two is a ``Hint`` with both forms. The command line shows its own form.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from omnigraph.cli.root import COMMANDS
from omnigraph.errors import Hint, OmnigraphError, OutcomeUnknown
from tests.architecture.source_tree import modules

_SHELL = re.compile(rf"(^|[\s(`])--[a-z]|\bomnigraph ({'|'.join(COMMANDS)})\b")
_PYTHON = re.compile(r"\bgraph\.\w+|\bomnigraph\.\w+[.(]|\b[a-z_]+=(\W|$)")


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of the constants in an expression."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.lineno, part.value


def _command_forms(tree: ast.Module) -> list[ast.expr]:
    """The second forms of all ``Hint(python, command)``."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call.args[1] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Hint"]


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Texts that are statements of their own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


NOT_HINTS = {
    "exec/analytics/registry.py": "the options of commands are declared with the parameters of the algorithms",
    "engine/upkeep/doctor.py": "advice of a report, which names commands for operators",
    "spark/cluster/java.py": "options of Java",
}


def test_no_text_sends_a_python_program_to_a_shell_nor_the_reverse() -> None:
    wrong = []
    for module in modules():
        if module.room == "cli" or module.path in NOT_HINTS:
            continue
        forms = _command_forms(module.tree)
        for line, text in (item for form in forms for item in _texts(form)):
            if _PYTHON.search(text):
                wrong.append(f"{module.path}:{line}: Python for the command line: {text}")
        apart = {id(part) for form in forms for part in ast.walk(form)} | {
            id(text) for text in _docstrings(module.tree)
        }
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in apart:
                continue
            if _SHELL.search(node.value):
                wrong.append(f"{module.path}:{node.lineno}: a command line for Python: {node.value}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("text", ["run omnigraph verify", "use --mode merge", "see `--keep`", "(--storage-option A=B)"])
def test_the_scan_finds_command_lines(text: str) -> None:
    assert _SHELL.search(text)
    assert not _SHELL.search("omnigraph.create(path, schema) makes one -- or not")


def test_an_error_holds_both_forms_and_shows_the_one_of_python() -> None:
    error = OmnigraphError("no", hint=Hint("graph.verify()", "omnigraph verify"))
    assert (error.hint, error.command_hint) == ("graph.verify()", "omnigraph verify")
    assert str(error) == "no\n  hint: graph.verify()"
    unknown = OutcomeUnknown("01A", "the store did not answer")
    assert unknown.command_hint is not None
    assert "omnigraph commit show 01A" in unknown.command_hint
