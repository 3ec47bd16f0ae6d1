"""Digests of resources: SHA-256 in hexadecimal. A file has the digest of its bytes; the others are computed here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

_SEPARATOR: Final = b"\0"


def value_digest(value: object) -> str:
    """The digest of a value without a file, whatever the order of its members."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def graph_digest(
    graph: str,
    schema: str,
    queries: Mapping[str, str],
    provider: tuple[str, str] | None = None,
    blob_policy: Any = None,
) -> str:
    """The digest of a graph: its id, the digests of its parts, and the places of its external blobs.

    ``queries`` are digests by name; ``provider`` is a name with its digest. A policy that allows nothing is as none.
    """
    parts = [graph, schema, *(part for name in sorted(queries) for part in (name, queries[name]))]
    if provider is not None:
        parts += provider
    if blob_policy:
        parts.append(value_digest(blob_policy))
    return hashlib.sha256(_SEPARATOR.join(part.encode() for part in parts)).hexdigest()


def config_digest(semantics: Mapping[str, Any], resources: Mapping[str, str]) -> str:
    """The digest of a whole configuration. Comments, layout and names of files do not count."""
    return value_digest({"config": semantics, "resources": resources})
