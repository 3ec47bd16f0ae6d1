"""The package as data, for the architecture tests: its modules, their syntax trees and their names.

Owns finding and parsing. What is allowed is decided in the tests.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "omnigraph"

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class Module:
    """One source file, named by its path below the package: `lang/lexer.py`."""

    path: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The top-level package or module: `lang` for `lang/lexer.py`, `errors` for `errors.py`."""
        return self.path.split("/")[0].removesuffix(".py")

    def definitions(self) -> Iterator[tuple[str, Definition]]:
        """Every class and function with its dotted name inside the module, nested ones included."""
        yield from _definitions(self.tree, "")


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield prefix + child.name, child
            yield from _definitions(child, f"{prefix}{child.name}.")
        else:
            yield from _definitions(child, prefix)


@cache
def modules() -> tuple[Module, ...]:
    """Every Python file of the package, in a stable order."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        found.append(Module(file.relative_to(PACKAGE).as_posix(), text, ast.parse(text, str(file))))
    return tuple(found)


def rooms() -> frozenset[str]:
    """The top-level packages and modules that exist."""
    return frozenset(module.room for module in modules()) - {"__init__", "__main__"}


def words(identifier: str) -> frozenset[str]:
    """The words of a snake_case or CamelCase name, in lower case: `arrowRow_count` -> arrow, row, count."""
    return frozenset(word.lower() for word in _WORD.findall(identifier))
