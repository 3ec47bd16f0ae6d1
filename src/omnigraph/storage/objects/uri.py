"""Where a graph's root is, and what its tables are called for Lance.

Local roots are always opened as ``file-object-store://``: with a plain path Lance swallows the error of a file's last
write and acknowledges a commit whose data cannot be read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import unquote, urlparse

from omnigraph.errors import UsageError

LOCAL_SCHEME = "file-object-store"


@dataclass(frozen=True, slots=True)
class Root:
    """A root on local disk (``path`` set) or in an object store (``url`` set)."""

    url: str
    path: str | None = None

    @property
    def is_local(self) -> bool:
        return self.path is not None

    def table_uri(self, location: str) -> str:
        """The URI under which Lance opens a table."""
        return f"{self.url}/{location}"

    def local(self, relative: str) -> str:
        """The path of a file below a local root."""
        assert self.path is not None
        return os.path.join(self.path, relative)

    def __str__(self) -> str:
        return self.path or self.url


def parse_root(uri: str | os.PathLike[str]) -> Root:
    """The root a user named: a path, ``file://...`` or ``s3://bucket/prefix``."""
    text = os.fspath(uri)
    if not text:
        raise UsageError("a graph's address must not be empty", hint="give a path or an s3:// address")
    parsed = urlparse(text)
    if parsed.scheme in ("", "file", LOCAL_SCHEME) or len(parsed.scheme) == 1:
        path = unquote(parsed.path) if parsed.scheme in ("file", LOCAL_SCHEME) else text
        absolute = os.path.abspath(os.path.expanduser(path))
        return Root(f"{LOCAL_SCHEME}://{absolute}", absolute)
    if parsed.scheme == "s3":
        if not parsed.netloc:
            raise UsageError(f"{text!r} names no bucket", hint="write s3://bucket/prefix")
        return Root(text.rstrip("/"))
    if parsed.scheme in ("http", "https"):
        raise UsageError(f"{text!r} is a server's address, not a store's", hint="open a store: a path or s3://...")
    raise UsageError(f"{parsed.scheme}:// is not supported", hint="use a path or s3://bucket/prefix")
