"""Mirrors of a graph: ordinary Lance datasets that refer to its files, and the versions they rely on.

Cleanup keeps these versions. A record names the versions of the last complete refresh, and during one also those of
the next, so that a mirror can be read at every moment. The datasets lie in a directory of their own; those of a mirror
in place are the tables of the graph, with an ordinary version for the head beside the detached ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.core.display import Display, Displayed
from omnigraph.errors import CorruptionError
from omnigraph.storage.objects.protocol import Objects
from omnigraph.storage.objects.sealed import seal, unseal

DIRECTORY = "mirrors"

Version = tuple[str, int]
"""Location and Lance version of a table."""


@dataclass(frozen=True, slots=True, repr=False)
class Mirror(Displayed):
    """A registered mirror."""

    target: str
    branch: str
    commit: str
    versions: frozenset[Version]
    shown: frozenset[Version] = frozenset()
    """The ordinary versions of a mirror in place. Their files are those of ``versions``."""

    def _display(self) -> Display:
        return Display(f"Mirror of {self.branch} in {self.target} at {self.commit}")

    @property
    def path(self) -> str:
        """The record's file: one for each target."""
        return f"{DIRECTORY}/{hashlib.sha256(self.target.encode()).hexdigest()[:32]}.json"


def save(objects: Objects, mirror: Mirror) -> None:
    """Create or replace the record of a mirror."""
    content = {
        "target": mirror.target,
        "branch": mirror.branch,
        "commit": mirror.commit,
        "versions": _listed(mirror.versions),
        **({"shown": _listed(mirror.shown)} if mirror.shown else {}),
    }
    objects.replace(mirror.path, seal(content))


def _listed(versions: frozenset[Version]) -> list[list[str]]:
    # As texts: the number of a detached version does not fit into a number of JSON.
    return [[location, str(version)] for location, version in sorted(versions)]


def _versions(listed: list[list[str]]) -> frozenset[Version]:
    return frozenset((location, int(version)) for location, version in listed)


def forget(objects: Objects, mirror: Mirror) -> None:
    """Delete the record of a mirror: cleanup no longer keeps files for it."""
    objects.delete(mirror.path)


def mirrors(objects: Objects) -> Iterator[Mirror | CorruptionError]:
    """All registered mirrors; an unreadable record is an error among them."""
    for path, _ in objects.list(f"{DIRECTORY}/"):
        content = objects.read(path)
        if content is None:
            continue
        try:
            yield _parsed(unseal(content, path))
        except CorruptionError as error:
            yield error


def _parsed(content: Mapping[str, Any]) -> Mirror:
    versions, shown = _versions(content["versions"]), _versions(content.get("shown", []))
    return Mirror(content["target"], content["branch"], content["commit"], versions, shown)
