"""Sealed files: small JSON objects that carry a checksum of themselves.

The stamp, refs, cleanup records and job notes are sealed. A sealed file has one key per line and the checksum in the
last one. It is valid only if sealing its fields again gives the same bytes, so every flipped bit is detected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from omnigraph.errors import CorruptionError, Hint

CHECKSUM = "checksum"


def seal(fields: Mapping[str, Any]) -> bytes:
    """The content of a file that holds these fields."""
    body = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in fields.items())
    digest = hashlib.sha256(body.encode()).hexdigest()[:32]
    return f'{{\n{body},\n  "{CHECKSUM}": "{digest}"\n}}\n'.encode()


def unseal(content: bytes, path: str, earlier: Collection[str] = ()) -> dict[str, Any]:
    """The fields of a sealed file; ``CorruptionError`` with its path if it was changed.

    Earlier versions wrote the same files without a checksum: content with exactly the ``earlier`` keys is accepted.
    """
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it is not JSON ({error})" if content else "it is empty") from error
    if not isinstance(fields, dict):
        raise damaged(path, "it is not a JSON object")
    if earlier and fields.keys() == set(earlier):
        return fields
    if fields.pop(CHECKSUM, None) is None or seal(fields) != content:
        raise damaged(path, "its checksum does not match")
    return fields


def damaged(path: str, reason: str) -> CorruptionError:
    """The error for a small file that was changed."""
    return CorruptionError(
        f"{path} is damaged: {reason}",
        hint=Hint("omnigraph.repair(...) lists the possible repairs", "omnigraph repair lists the possible repairs"),
        path=path,
    )
