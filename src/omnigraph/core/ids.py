"""ULIDs: ids that sort by the time they were minted.

The clock and the randomness are brought by the caller (``core.ports``), so that tests can repeat them.
"""

from __future__ import annotations

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80
_TIME_MAX = 2**48 - 1
ULID_LENGTH = 26


def encode_ulid(milliseconds: int, randomness: int) -> str:
    """26 characters: 48 bits of time, 80 bits of randomness."""
    number = (min(milliseconds, _TIME_MAX) << _RANDOM_BITS) | (randomness & (2**_RANDOM_BITS - 1))
    digits: list[str] = []
    for _ in range(ULID_LENGTH):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


def is_ulid(text: str) -> bool:
    """Whether a text has the form of a ULID."""
    return len(text) == ULID_LENGTH and text[0] in "01234567" and all(char in _ALPHABET for char in text)
