"""The long run in parts of less than an hour each: `make test-long PART=<name>`, and `PART=list` for the names.

Every long test belongs to one part: the one of its `part` mark, or else the one named after its directory. A part runs
in one process, so that two parts can run side by side on two cores. Sweeps leave the counts of their cells in the file
of `--counts` and print them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.promises.crash.cells import CELLS

LIST = "list"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", metavar="NAME", help="only the long tests of this part; 'list' prints the parts")
    parser.addoption("--counts", metavar="FILE", type=Path, help="where the sweeps leave the counts of their cells")


def part_of(item: pytest.Item) -> str:
    mark = item.get_closest_marker("part")
    return str(mark.args[0]) if mark is not None else item.path.parent.name


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--part")
    if wanted is None:
        return
    sizes = Counter(part_of(item) for item in items)
    if wanted == LIST:
        lines = [f"  {name:20} {count} tests" for name, count in sorted(sizes.items())]
        pytest.exit("\n".join(["parts of the long run:", *lines]), returncode=0)
    if wanted not in sizes:
        raise pytest.UsageError(f"no part {wanted!r}; there are: {', '.join(sorted(sizes))}")
    config.hook.pytest_deselected(items=[item for item in items if part_of(item) != wanted])
    items[:] = [item for item in items if part_of(item) == wanted]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    counts = config.getoption("--counts")
    if counts is None or not CELLS.judged:
        return
    CELLS.save(counts)
    terminalreporter.section("cells")
    for line in CELLS.tables():
        terminalreporter.line(line)
