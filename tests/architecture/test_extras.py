"""The lock holds every extra but those that are left out on purpose."""

import re
import tomllib

from tests.architecture.source_tree import REPOSITORY

UNLOCKED = {"llama-index"}
"""Extras whose dependencies are too large for every run of the suite."""


def test_the_lock_is_made_from_all_extras_but_the_named_ones() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    [line] = re.findall(r"^EXTRAS := (.*)$", makefile, re.MULTILINE)
    assert set(line.split()) == set(settings["project"]["optional-dependencies"]) - UNLOCKED
