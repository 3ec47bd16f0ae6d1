"""`docs/user/configuration.md` lists exactly the environment variables and settings that the source reads."""

import re

from omnigraph.config import operator as operator_config
from tests.architecture.source_tree import REPOSITORY

PAGE = (REPOSITORY / "docs" / "user" / "configuration.md").read_text(encoding="utf-8")
SOURCES = [path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "src").rglob("*.py"))]
NAME = re.compile(r"\bOMNIGRAPH_[A-Z_]+")
SUFFIX = re.compile(r"\{PREFIX\}([A-Z][A-Z_]*)|_number\(\w+, \"([A-Z_]+)\"")
"""The rest of a name in the module that declares the prefix."""


def _names_in_the_source() -> set[str]:
    names = {name for text in SOURCES for name in NAME.findall(text)}
    prefixes = {name for name in names if name.endswith("_")}
    suffixes = {one or other for text in SOURCES for one, other in SUFFIX.findall(text)}
    return names - prefixes | {prefix + suffix for prefix in prefixes for suffix in suffixes}


def test_every_variable_of_the_source_is_in_the_table_and_every_row_is_read() -> None:
    assert set(re.findall(r"^\| `(OMNIGRAPH_[A-Z_]+)` \|", PAGE, re.MULTILINE)) == _names_in_the_source()


def test_every_key_of_the_operator_file_is_documented() -> None:
    for section, keys in operator_config._KNOWN.items():
        for key in keys:
            assert f"`{section}.{key}`" in PAGE or f"`{key}" in PAGE or f"{key}." in PAGE, (section, key)
    assert [key for key in operator_config._PROFILE_KEYS if f"`{key}`" not in PAGE] == []
