"""ULIDs: ids that sort by the time they were minted.

The caller passes time and randomness (``core.ports``), so that tests are deterministic.
"""

from __future__ import annotations

from functools import lru_cache

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80
_TIME_MAX = 2**48 - 1
ULID_LENGTH = 26
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]


def encode_ulid(milliseconds: int, randomness: int) -> str:
    """26 characters: 48 bits of time, 80 bits of randomness."""
    number: int = (min(milliseconds, _TIME_MAX) << _RANDOM_BITS) | (randomness & (2**_RANDOM_BITS - 1))
    return _leading(number >> 20) + _PAIRS[number >> 10 & 1023] + _PAIRS[number & 1023]


def encode_ulids(milliseconds: int, randomness: int, count: int) -> str:
    """Consecutive ULIDs, concatenated.

    Neighbours differ only in their last characters, so a prefix is encoded once per 1024 ids.
    """
    made: list[str] = []
    end = randomness + count
    while randomness < end:
        first = randomness & 1023
        pairs = _PAIRS[first : first + end - randomness]
        start = encode_ulid(milliseconds, randomness)[:-2]
        made.append(start + start.join(pairs))
        randomness += len(pairs)
    return "".join(made)


@lru_cache(maxsize=64)
def _leading(number: int) -> str:
    """All but the last four characters: the ids that a load mints in one millisecond share them."""
    return "".join(_PAIRS[number >> shift & 1023] for shift in range(100, -1, -10))


def is_ulid(text: str) -> bool:
    """Tell if a text has the form of a ULID."""
    return len(text) == ULID_LENGTH and text[0] in "01234567" and all(char in _ALPHABET for char in text)


def ulid_milliseconds(text: str) -> int:
    """The time of a ULID: milliseconds since 1970."""
    number = 0
    for character in text[:10]:
        number = number * len(_ALPHABET) + _ALPHABET.index(character)
    return number
