"""The names of the files that make a version: manifests of Lance, and seals of external tables."""

from __future__ import annotations

from omnigraph.core.tables import is_external

DETACHED_BIT = 1 << 63
"""Numbers of detached versions have the highest bit set; ordinary ones count from 1."""

FIRST_VERSION = 1
"""An ordinary, empty version that every table has: it makes the directory a dataset for Lance."""

LAST_NUMBER = 2**64 - 1
"""Lance names an ordinary version by its distance from this number, so that listings start with the newest."""

AHEAD = "omnigraph:ahead"
"""Metadata of the rows of a manifest: the path of a file that its readers need next. Only a hint, which saves them a
wait for the store; the rows say which file it is."""


def manifest_file(location: str, version: int) -> str:
    """The manifest of a version, detached or ordinary; of an external table, its seal."""
    if is_external(location):
        return f"{location}/{version:016x}.json"
    name = f"d{version}" if version & DETACHED_BIT else f"{LAST_NUMBER - version:020d}"
    return f"{location}/_versions/{name}.manifest"


def version_of(path: str) -> int | None:
    """The ordinary version whose manifest a file is; None for every other file."""
    name = path.rpartition("/")[2].removesuffix(".manifest")
    return LAST_NUMBER - int(name) if path.endswith(".manifest") and name.isdecimal() else None


def lance_version(path: str) -> int:
    """The version whose manifest a file is, detached or ordinary."""
    ordinary = version_of(path)
    return int(path.rpartition("/")[2].removesuffix(".manifest").removeprefix("d")) if ordinary is None else ordinary
