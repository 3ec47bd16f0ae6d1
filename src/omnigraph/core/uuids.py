"""UUIDs as texts: the form of RFC 9562 in lower case, which is their stored form."""

from __future__ import annotations

import re
from typing import Final

_HEX: Final = r"([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})"
_UUID: Final = re.compile(rf"(?:urn:uuid:)?(?:{_HEX}|\{{{_HEX}\}})", re.ASCII | re.IGNORECASE)

CANONICAL: Final = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
"""A pattern of the stored form."""


def parse_uuid(text: str) -> str | None:
    """The stored form of a UUID in any usual form: with or without hyphens, in braces, as a URN; None for others."""
    found = _UUID.fullmatch(text.strip())
    return None if found is None else "-".join(part for part in found.groups() if part is not None).lower()


def uuid_of_bytes(value: bytes) -> str:
    """The stored form of 16 bytes."""
    digits = value.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
