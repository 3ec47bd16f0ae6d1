"""The newest version of a manifest on a local disk, ignoring a version torn by a power loss.

Versions are numbered without gaps and their names are never reused, so the newest one is found by probing upwards from
a version that is known to exist. A torn newest version (empty, zeros, cut short) without a published mark was never
acknowledged: it is set aside, and the version before it is the newest. With a mark it is damage, and an error.
"""

from __future__ import annotations

import logging
import os
import uuid
from functools import lru_cache

from omnigraph.errors import CorruptionError, Hint
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.objects.locks import only_process
from omnigraph.storage.objects.uri import Root
from omnigraph.storage.objects.version_names import LAST_NUMBER, manifest_file
from omnigraph.storage.publish.published import newest_mark

_logger = logging.getLogger(__name__)

ASIDE = "aside"
"""Directory below the root for damaged files that were set aside, under their own paths. Nothing deletes them."""

_TRAILER = b"LANC"
"""Last bytes of every complete Lance manifest. A file system that lost the content shows zeros or a shorter file."""


def newest_version(root: Root, location: str, known: int = 0) -> int | None:
    """The newest complete version, or None if there is no manifest. ``known`` is a version that was seen complete."""
    with translated(f"the newest version of {location} cannot be found", location=location):
        while True:
            version = _newest_name(root, location, known)
            if version is None or not is_torn(root, location, version):
                return version
            if not _set_aside_torn(root, location, version, known):
                return version - 1 or None


def _newest_name(root: Root, location: str, known: int) -> int | None:
    mark = None if known else newest_mark(root, location)
    version = mark.version if mark is not None else known
    if not version:
        return max(_listed(root, location), default=None)
    if not has_version(root, location, version):
        if not os.path.isdir(root.local(f"{location}/_versions")):
            return None
        raise lost_version(location, version, "is missing")
    while has_version(root, location, version + 1):
        version += 1
    return version


def has_version(root: Root, location: str, version: int) -> bool:
    """True if the manifest of a version exists. A failing disk raises: read as "missing", it would hide commits."""
    assert root.path is not None
    try:
        os.stat(_version_path(root.path, location, version))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


@lru_cache(maxsize=1024)
def _version_path(root: str, location: str, version: int) -> str:
    # Every read of a branch asks for two of these, and making them costs as much as asking.
    return os.path.join(root, manifest_file(location, version))


def _listed(root: Root, location: str) -> list[int]:
    try:
        names = os.listdir(root.local(f"{location}/_versions"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    stems = [name.removesuffix(".manifest") for name in names if name.endswith(".manifest")]
    return [LAST_NUMBER - int(stem) for stem in stems if stem.isdecimal()]


def is_torn(root: Root, location: str, version: int) -> bool:
    """True for a manifest whose end never reached the disk."""
    try:
        with open(root.local(manifest_file(location, version)), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - len(_TRAILER)))
            return file.read() != _TRAILER
    except FileNotFoundError:
        # Another process has set it aside.
        return True


def lost_version(location: str, version: int, what: str) -> CorruptionError:
    """The error for a damaged manifest version that may have been acknowledged."""
    path = manifest_file(location, version)
    return CorruptionError(
        f"{path} {what}, and its version was published: a commit may be lost",
        hint=Hint(
            "restore the file from a copy, or return to the version before it: omnigraph.repair(..., apply=True)",
            "restore the file from a copy, or run omnigraph repair to return to the version before it",
        ),
        path=path,
        location=location,
        version=version,
    )


def _set_aside_torn(root: Root, location: str, version: int, known: int) -> bool:
    """Free the name of a torn version; False if this process may not. Raises for a version that was published."""
    path = manifest_file(location, version)
    try:
        with only_process(root.local(f"{location}/_versions")):
            # Checked again under the lock: another process may have set it aside, and a writer may have published a
            # complete version under the name since. Moving that one away would lose a commit.
            if not has_version(root, location, version) or not is_torn(root, location, version):
                return True
            mark = newest_mark(root, location)
            if version == known or (mark is not None and mark.version >= version):
                raise lost_version(location, version, "is damaged")
            target = root.local(f"{ASIDE}/{path}.{uuid.uuid4().hex}")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.rename(root.local(path), target)
    except OSError as error:
        _logger.warning("%s is torn and cannot be set aside (%s); using version %d", path, error, version - 1)
        return False
    _logger.warning(
        "%s was torn by a crash before its commit was acknowledged: set aside below %s/, using version %d",
        path,
        ASIDE,
        version - 1,
    )
    return True
