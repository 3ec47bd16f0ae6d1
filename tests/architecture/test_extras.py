"""The lock holds every extra, so the suite runs the tests of all of them."""

import re
import tomllib

from tests.architecture.source_tree import REPOSITORY


def test_the_lock_is_made_from_all_extras() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    [line] = re.findall(r"^EXTRAS := (.*)$", makefile, re.MULTILINE)
    assert set(line.split()) == set(settings["project"]["optional-dependencies"])
