"""Texts of entities in the form in which they are compared: normalised, as words, by their sound."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import pyarrow as pa

from omnigraph.exec.resolve.rules import Normalize

_NOT_WORD: Final = re.compile(r"[^\w]+|_+")
_SOUNDS: Final = {
    letter: digit for digit, letters in enumerate(("bfpv", "cgjkqsxz", "dt", "l", "mn", "r"), 1) for letter in letters
}
_SILENT: Final = frozenset("hw")
"""Letters that do not separate two equal sounds."""
SOUNDEX_CHARS: Final = 4


def _plain(text: str) -> str:
    return text


def _text(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _letters(text: str) -> str:
    apart = unicodedata.normalize("NFKD", _text(text))
    kept = "".join(char for char in apart if not unicodedata.combining(char))
    return " ".join(_NOT_WORD.sub(" ", unicodedata.normalize("NFC", kept)).split())


NORMAL_FORMS: Final[Mapping[Normalize, Callable[[str], str]]] = {
    Normalize.NONE: _plain,
    Normalize.TEXT: _text,
    Normalize.LETTERS: _letters,
}


def normalized(texts: pa.Array, form: Normalize) -> pa.Array:
    """Texts in a normal form; null where nothing is left of one."""
    encoded = texts.dictionary_encode()
    change = NORMAL_FORMS[form]
    changed = pa.array([change(text) or None for text in encoded.dictionary.to_pylist()], pa.string())
    return changed.take(encoded.indices)


def tokens(text: str) -> frozenset[str]:
    """The words of a text: runs of letters and digits."""
    return frozenset(word for word in _NOT_WORD.split(text) if word)


def soundex(text: str) -> str | None:
    """The American Soundex code of the first word; None without a Latin letter.

    >>> soundex("Robert"), soundex("Rupert"), soundex("Ashcraft"), soundex("Tymczak")
    ('r163', 'r163', 'a261', 't522')
    """
    letters = [char for char in _first_word(text) if "a" <= char <= "z"]
    if not letters:
        return None
    code, last = letters[0], _SOUNDS.get(letters[0], 0)
    for letter in letters[1:]:
        sound = _SOUNDS.get(letter, 0)
        if sound and sound != last:
            code += str(sound)
        if letter not in _SILENT:
            last = sound
    return code[:SOUNDEX_CHARS].ljust(SOUNDEX_CHARS, "0")


def _first_word(text: str) -> str:
    return next(iter(_letters(text).split()), "")


def distinct(values: Iterable[str | None]) -> list[str]:
    """The different texts, in order."""
    return list(dict.fromkeys(value for value in values if value))
