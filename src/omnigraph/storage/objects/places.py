"""Diagnosis of a path that is not the root of a graph, with the next step for the user."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from omnigraph.errors import Hint
from omnigraph.storage.objects.uri import Root

GRAPHS_SHOWN_MAX = 3

_HINTS = {
    errno.EACCES: "ask its owner for permission, or choose another path",
    errno.EPERM: "ask its owner for permission, or choose another path",
    errno.EROFS: "it is on a read-only file system: open it for reading, or copy it to another path",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.ENOTDIR: "one component of the path is a file; a graph is a directory",
}


def diagnose(root: Root, marker: str) -> tuple[str, str | Hint]:
    """The reason why a path holds no graph, and the next step. ``marker`` is the file that every graph has."""
    create = Hint(
        f"create one: omnigraph.create({str(root)!r}, schema)", f"create one: omnigraph init --schema SCHEMA.pg {root}"
    )
    if root.path is None:
        return "", create
    if os.path.isfile(root.path):
        return ": it is a file", _file_hint(root.path)
    if not os.path.isdir(root.path):
        return ": nothing is there", _meant(_graphs_like(root.path, marker)) or create
    if os.path.isdir(os.path.join(root.path, "_versions")):
        return ": it is a Lance dataset", Hint(
            "a graph is a directory of them: make one with omnigraph.create and load it with graph.load",
            "a graph is a directory of them: make one with omnigraph init and load it with omnigraph load",
        )
    near = [path for path in _above(root.path) if os.path.isfile(os.path.join(path, marker))]
    return "", _meant(near or _graphs_below(root.path, marker)) or create


def _file_hint(path: str) -> Hint:
    """The next step for a file in place of a graph: a graph is made from a schema, or from data."""
    name = os.path.basename(path)
    if name.endswith(".pg"):
        made = "a graph is a directory: create one with this schema"
        return Hint(
            f"{made}: omnigraph.create(graph, pathlib.Path({name!r}))",
            f"{made}: omnigraph init --schema {name} GRAPH",
        )
    return Hint(
        "a graph is a directory: name the one that omnigraph.create made, or make a graph of a data file: "
        f"omnigraph.create(graph, [{name!r}])",
        "a graph is a directory: name the one that omnigraph init made, or make a graph of a data file: "
        f"omnigraph import {name} --into GRAPH",
    )


def _meant(paths: list[str]) -> str | None:
    return f"did you mean {' or '.join(paths[:GRAPHS_SHOWN_MAX])}?" if paths else None


def _above(path: str) -> list[str]:
    parent = os.path.dirname(path)
    return [] if parent == path else [parent, *_above(parent)]


def _graphs_below(path: str, marker: str) -> list[str]:
    # A directory that cannot be listed gives no suggestion; the read itself reports the permission.
    with suppress(OSError), os.scandir(path) as entries:
        return sorted(entry.path for entry in entries if os.path.isfile(os.path.join(entry.path, marker)))
    return []


def _graphs_like(path: str, marker: str) -> list[str]:
    """Graphs beside the path with similar names."""
    directory, name = os.path.split(path)
    names = [os.path.basename(graph) for graph in _graphs_below(directory, marker)]
    from difflib import get_close_matches

    return [os.path.join(directory, close) for close in get_close_matches(name, names)]


def local_reason(error: OSError) -> tuple[str, str | None]:
    """The message of the operating system, and the next step."""
    return (error.strerror or str(error)).lower(), _HINTS.get(error.errno or 0)
