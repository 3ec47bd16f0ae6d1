"""The table of object stores. Adding one means one module that implements ``Backend`` and one row here.

Scheme and address are looked at in this module and in the backends only. Other packages ask a root for its
capabilities, or hand an address to ``source_files`` and ``target_files``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlparse

from omnigraph.errors import UsageError
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.local import LocalBackend
from omnigraph.storage.objects.protocol import Backend, Objects
from omnigraph.storage.objects.uri import LOCAL_SCHEME, Root

_LOCAL = LocalBackend()


@cache
def backends() -> tuple[Backend, ...]:
    """The rows of the table. Those of buckets are imported with the first address that is not local."""
    from omnigraph.storage.objects.s3 import S3Backend

    return _LOCAL, S3Backend()


def parse_root(uri: str | os.PathLike[str]) -> Root:
    """The root that a user named: a path, ``file://...`` or the address of a prefix in an object store."""
    text = os.fspath(uri)
    if not text:
        raise UsageError("the address of a graph must not be empty", hint=f"use {_examples('prefix')}")
    scheme = urlparse(text).scheme
    if scheme in ("http", "https"):
        raise UsageError(
            f"{text!r} is the address of a server, not of a store", hint=f"open a store: {_examples('prefix')}"
        )
    # A scheme of one letter is a drive of Windows.
    return _backend(scheme if len(scheme) > 1 else LOCAL_SCHEME, text, "prefix").parse_root(text)


def backend_of(root: Root) -> Backend:
    """The backend of a parsed root."""
    return backend_at(root.url)


def backend_at(address: str) -> Backend:
    """The backend of a file or directory; text without ``://`` is a local path."""
    scheme, separator, _ = address.partition("://")
    return _backend(scheme if separator else LOCAL_SCHEME, address, "key")


def open_objects(root: Root, options: Mapping[str, str], durability: Durability) -> Objects:
    """The small files of a root."""
    return backend_of(root).open_objects(root, options, durability)


def _backend(scheme: str, address: str, last: str) -> Backend:
    # Schemes are case-insensitive (RFC 3986).
    wanted = scheme.lower()
    if wanted in _LOCAL.schemes:
        return _LOCAL
    found = next((row for row in backends() if wanted in row.schemes), None)
    if found is None:
        raise UsageError(f"{scheme}:// is not supported", hint=f"use {_examples(last)}", path=address)
    return found


def _examples(last: str) -> str:
    return " or ".join(["a path", *(f"{row.example}/{last}" for row in backends() if not row.capabilities.is_local)])
