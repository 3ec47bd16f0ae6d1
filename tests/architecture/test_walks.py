"""The narrated walks of `docs/dev/walks.md` name modules that exist, by their path."""

import re

from tests.architecture.source_tree import REPOSITORY, modules

PATH = re.compile(r"`([a-z_]+(?:/[a-z_]+)*\.py)`")


def test_every_module_of_a_walk_exists() -> None:
    page = (REPOSITORY / "docs" / "dev" / "walks.md").read_text(encoding="utf-8")
    named = set(PATH.findall(page))
    assert len(named) > 40
    assert not named - {module.path for module in modules()}
