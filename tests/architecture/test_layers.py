"""ARCHITECTURE.md and the import contracts tell the same story about the same packages."""

import re
import tomllib
from typing import Any

from tests.architecture.source_tree import REPOSITORY, rooms

ROOM = re.compile(r"^\| `(\w+)` \| (built|planned) \|", re.MULTILINE)


def _layers() -> list[list[str]]:
    settings: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [re.findall(r"\w+", layer) for layer in layers]


def _described_rooms() -> dict[str, str]:
    page = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return dict(ROOM.findall(page))


def test_the_figure_shows_the_layers_that_are_enforced() -> None:
    page = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    figure = page.split("```")[1]
    # The names stand left of the first run of blanks; what follows explains them.
    drawn = [re.findall(r"\w+", re.split(r"\s{2,}", line)[0]) for line in figure.strip().splitlines()]
    assert drawn == _layers()


def test_every_package_is_described_as_what_it_is() -> None:
    described = _described_rooms()
    assert set(described) == {name for layer in _layers() for name in layer}
    assert {name for name, state in described.items() if state == "built"} == rooms()
