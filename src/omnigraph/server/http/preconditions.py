"""Conditions and ranges of HTTP (RFC 9110) for one representation with a strong entity tag. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_TAG: Final = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_TAGS: Final = re.compile(rf"(?:[\s,]*+{_TAG.pattern}\s*+(?=,|\Z))++[\s,]*+")
"""A list of tags. Its elements may be empty (RFC 9110, 5.6.1)."""
_RANGE: Final = re.compile(r"bytes=([0-9]*)-([0-9]*)", re.IGNORECASE | re.ASCII)
_POSITION_MAX: Final = 2**64 - 1
"""The largest position. Clients write the largest number of 63 bits for an open end."""
_DIGITS_MAX: Final = 20


def fails_match(values: Sequence[str], etag: str) -> bool:
    """True if an ``If-Match`` does not hold: no strong tag equals, or the header is malformed."""
    if not values:
        return False
    text = ", ".join(values)
    if text.strip() == "*":
        return False
    return etag not in _strong_tags(text)


def is_unmodified(values: Sequence[str], etag: str) -> bool:
    """True if an ``If-None-Match`` names the tag, weakly compared, or ``*``."""
    if not values:
        return False
    text = ", ".join(values)
    if text.strip() == "*":
        return True
    if _TAGS.fullmatch(text) is None:
        return False
    return any(f'"{tag}"' == etag for _, tag in _TAG.findall(text))


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A half-open range of bytes; one that is not ``satisfiable`` has no byte of the representation."""

    start: int
    end: int
    is_satisfiable: bool = True


def requested_range(ranges: Sequence[str], if_range: Sequence[str], etag: str, length: int) -> ByteRange | None:
    """The requested range; None for the whole: no range, several, malformed ones, or an outdated tag."""
    if len(ranges) != 1 or (if_range and (len(if_range) != 1 or if_range[0].strip() != etag)):
        return None
    found = _RANGE.fullmatch(ranges[0].strip())
    if found is None or max(map(len, found.groups())) > _DIGITS_MAX:
        return None
    first, last = found.groups()
    if max(int(first or 0), int(last or 0)) > _POSITION_MAX:
        return None
    if not first:
        return _suffix(last, length)
    start = int(first)
    if last and int(last) < start:
        return None
    end = min(int(last) + 1, length) if last else length
    return ByteRange(start, end) if start < length else ByteRange(start, max(start, end), is_satisfiable=False)


def _suffix(count: str, length: int) -> ByteRange | None:
    if not count:
        return None
    taken = min(int(count), length)
    return ByteRange(length - taken, length, is_satisfiable=taken > 0)


def _strong_tags(text: str) -> list[str]:
    if _TAGS.fullmatch(text) is None:
        return []
    return [f'"{tag}"' for weak, tag in _TAG.findall(text) if not weak]
