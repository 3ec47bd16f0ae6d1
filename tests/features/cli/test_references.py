"""The pages that list things list all of them: commands, public names, error codes, limits."""

import re

import pytest
from docs import generate

import omnigraph
from omnigraph.core import limits
from tests.features.cli.run import REPOSITORY

USER = REPOSITORY / "docs" / "user"


@pytest.mark.parametrize("name", list(generate.WRITTEN))
def test_a_reference_page_is_what_the_program_says(name: str) -> None:
    written = (USER / name).read_text(encoding="utf-8")
    assert written == generate.WRITTEN[name](), "run `make docs`"


def test_every_error_code_is_explained_once() -> None:
    codes = re.findall(r"^\| `(\w+)` \|", (USER / "errors.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(codes) == sorted(error.code for error in generate.all_errors())


def test_every_limit_is_told_with_its_value() -> None:
    page = (USER / "limits.md").read_text(encoding="utf-8")
    told = re.findall(r"\| ([\d,]+) \| `(\w+)` \|", page)
    told_values = {name: int(value.replace(",", "")) for value, name in told}
    assert told_values == {name: value for name, value in vars(limits).items() if name.endswith("_MAX")}


def test_every_public_name_of_the_graph_has_a_docstring() -> None:
    undocumented = [name for name, member in generate.members(omnigraph.Graph) if not generate.text(member)]
    assert undocumented == []
