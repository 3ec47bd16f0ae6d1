"""Mirrors of a graph: ordinary Lance datasets outside it that refer to its files, and the versions they rely on.

Cleanup keeps these versions. A record names the versions of the last complete refresh, and during one also those of
the next, so that a mirror can be read at every moment.
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
        "versions": [[location, str(version)] for location, version in sorted(mirror.versions)],
    }
    objects.replace(mirror.path, seal(content))


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
    versions = frozenset((location, int(version)) for location, version in content["versions"])
    return Mirror(content["target"], content["branch"], content["commit"], versions)
