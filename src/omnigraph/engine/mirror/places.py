"""The place of a mirror: a directory of its own, or the tables of the graph."""

from __future__ import annotations

import os
from collections.abc import Mapping

from omnigraph.engine.mirror import in_place as shown
from omnigraph.engine.mirror.result import MirrorResult
from omnigraph.engine.mirror.run import refresh, remove
from omnigraph.errors import Hint, UsageError
from omnigraph.manifest.reader import Manifests

Target = str | os.PathLike[str] | None


def refresh_at(
    manifests: Manifests, target: Target, branch: str, storage_options: Mapping[str, str] | None, *, in_place: bool
) -> MirrorResult:
    """Make or refresh a mirror at one of the two places."""
    directory = _directory(target, in_place=in_place)
    if directory is None:
        return shown.show(manifests, branch)
    return refresh(manifests, directory, branch, storage_options)


def remove_at(
    manifests: Manifests, target: Target, storage_options: Mapping[str, str] | None, *, in_place: bool
) -> None:
    """Remove the mirror at one of the two places."""
    directory = _directory(target, in_place=in_place)
    if directory is None:
        shown.hide(manifests)
    else:
        remove(manifests, directory, storage_options)


def _directory(target: Target, *, in_place: bool) -> str | None:
    """The directory of a mirror; None for the tables of the graph themselves."""
    if in_place == (target is not None):
        given = "a directory and in_place" if in_place else "neither a directory nor in_place"
        raise UsageError(
            f"{given} given for a mirror",
            hint=Hint('use graph.mirror("tables") or graph.mirror(in_place=True)', "pass a DIRECTORY or --in-place"),
        )
    return None if target is None else os.fspath(target)
