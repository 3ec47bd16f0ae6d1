"""Paths and modules in the pages for contributors exist.

A span of code names a file by its path from the repository or from the package (`exec/run.py`), a test file of any
folder by its name (`test_fences.py`), or a module or one of its definitions with dots (`history.rebase`).
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.source_tree import PACKAGE, REPOSITORY, modules

PAGES = (
    *sorted((REPOSITORY / "docs" / "dev").glob("*.md")),
    *sorted((REPOSITORY / "docs" / "adr").glob("*.md")),
    REPOSITORY / "ARCHITECTURE.md",
    REPOSITORY / "CONTRIBUTING.md",
)

# page -> why it may name files that are gone
HISTORY = {"0008-rooms-above-are-found-by-name.md": "replaced by ADR 19, which removed the module it describes"}

# first word of a dotted name -> why it is no module of the project
FOREIGN = {
    "graph": "the variable of the examples",
    "object": "the Python type",
    "jdk": "a module of Java",
    **dict.fromkeys(sys.stdlib_module_names, "the standard library"),
}

FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+\.(?:py|md|toml)")
FOLDER = re.compile(r"(?:src|tests|docs|benchmarks|examples)(?:/[\w-]+)*/?|[a-z_]+(?:/[a-z_]+)+/?")
DOTTED = re.compile(r"[a-z_]+(?:\.[A-Za-z_]+)+")
NO_MODULE = re.compile(r".*\.(?:json|yaml|npy|npz|jsonl|parquet)|spark\.(?:driver|executor|sql)\..*")
"""Files of data, and settings of Spark."""


def named(text: str) -> Iterator[str]:
    """Spans of code that look like a file, a folder of the project or a dotted name."""
    for span in SPAN.findall(FENCE.sub("", text)):
        is_module = DOTTED.fullmatch(span) and not NO_MODULE.fullmatch(span) and span.split(".")[0] not in FOREIGN
        if is_module or FILE.fullmatch(span) or FOLDER.fullmatch(span):
            yield span


def exists(name: str) -> bool:
    """True if the name leads to a file, a folder, a module or a definition."""
    if "/" in name or FILE.fullmatch(name):
        is_test = name.startswith("test_") and any((REPOSITORY / "tests").rglob(name))
        return is_test or any((root / name).exists() for root in (REPOSITORY, PACKAGE, PACKAGE.parent))
    parts = name.split(".")
    return any((root / Path(*parts)).exists() for root in (REPOSITORY, PACKAGE, PACKAGE.parent)) or any(
        _defines(parts[:length], parts[length:]) for length in range(1, len(parts) + 1)
    )


def _defines(module: list[str], inside: list[str]) -> bool:
    path = "/".join(module).removeprefix("omnigraph/") + ".py"
    is_other = not inside and (REPOSITORY / path).exists()
    return is_other or (path in _definitions() and (not inside or ".".join(inside) in _definitions()[path]))


@cache
def _definitions() -> dict[str, frozenset[str]]:
    """Classes, functions and constants by module."""
    return {
        module.path: frozenset(name for name, _ in module.definitions())
        | {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for module in modules()
    }


def missing(text: str) -> list[str]:
    return sorted({name for name in named(text) if not exists(name)})


def test_every_path_and_module_that_a_page_names_exists() -> None:
    found = {page.name: missing(page.read_text(encoding="utf-8")) for page in PAGES if page.name not in HISTORY}
    assert {page: names for page, names in found.items() if names} == {}


def test_every_excused_page_needs_its_excuse() -> None:
    assert [page.name for page in PAGES if page.name in HISTORY and missing(page.read_text(encoding="utf-8"))] == list(
        HISTORY
    )


def test_moved_files_modules_and_definitions_are_found() -> None:
    right = "`exec/run.py` `tests/architecture` `test_budgets.py` `history.rebase` `core.scalars.Scalar` `Makefile`"
    wrong = ["exec/results.py", "frame.py", "history.rebased", "merge_schema.aligned", "tests/fast"]
    assert missing(f"{right}\n```\n`gone.py`\n```\n") == []
    assert missing(" ".join(f"`{name}`" for name in wrong)) == sorted(wrong)
