"""The root of a graph: its address, its tables' URIs for Lance, and the capabilities of the store that holds it.

Local roots are always opened as ``file-object-store://``: with a plain path Lance swallows the error of a file's last
write and acknowledges a commit whose data cannot be read.
"""

from __future__ import annotations

import os

from omnigraph.core.classes.dataclass import dataclass

LOCAL_SCHEME = "file-object-store"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Properties of a backend that decide how the layers above write to it. They branch on these, never on a scheme."""

    is_local: bool
    """Files of this machine, opened by path."""
    links_versions: bool
    """A manifest version gets its name by a hard link, once its content is durable, and leaves a published mark.
    Otherwise the swap is Lance's own commit, a conditional PUT."""
    keeps_checksums: bool
    """New files are digested, because the store itself does not verify what it returns."""
    renames: bool
    """A file can be moved without reading it."""
    acts_late: bool
    """A request whose response was lost may still take effect after the caller has looked."""
    create_attempts_max: int
    """Attempts of a conditional create. More than one where the store may refuse two concurrent requests (409) and
    keep neither: the other request is finished long before the last attempt."""


@dataclass(frozen=True, slots=True)
class Root:
    """A root on local disk (``path`` set) or in an object store."""

    url: str
    capabilities: Capabilities
    path: str | None = None

    @property
    def is_local(self) -> bool:
        return self.capabilities.is_local

    def table_uri(self, location: str) -> str:
        """The URI under which Lance opens a table."""
        return f"{self.url}/{location}"

    def local(self, relative: str) -> str:
        """The path of a file below a local root."""
        assert self.path is not None
        return os.path.join(self.path, relative)

    def __str__(self) -> str:
        return self.path or self.url


def is_remote(path: str) -> bool:
    """Return true for an address with a scheme other than ``file``; a path without a scheme is local."""
    return "://" in path and not path.startswith("file://")
