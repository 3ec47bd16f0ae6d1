"""Mentions: names of entities in texts, found as whole words without case.

The longest name at a place is a mention; shorter names within it are not. A name that several entities have mentions
all of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

_WORD: Final = re.compile(r"\w+")

Words = tuple[str, ...]


def words_of(text: str) -> Words:
    """The words of a text in the form in which they are compared."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


@dataclass(frozen=True)
class NameIndex:
    """Names of entities by their words. Pickled to executors."""

    ids: dict[Words, tuple[str, ...]] = field(default_factory=dict)
    lengths: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """By the first word of names: the numbers of words that they have, the largest first."""

    @classmethod
    def of(cls, names: Iterable[tuple[str, str]], chars_min: int) -> NameIndex:
        """The index of pairs of an id and a name. Names with fewer characters are left out."""
        found: dict[Words, dict[str, None]] = {}
        for id_, name in names:
            words = words_of(name)
            if words and sum(map(len, words)) >= chars_min:
                found.setdefault(words, {})[id_] = None
        lengths: dict[str, set[int]] = {}
        for words in found:
            lengths.setdefault(words[0], set()).add(len(words))
        return cls(
            {words: tuple(sorted(ids)) for words, ids in found.items()},
            {first: tuple(sorted(some, reverse=True)) for first, some in lengths.items()},
        )

    def find(self, text: str) -> Counter[str]:
        """The entities that a text mentions, and how often."""
        words = words_of(text)
        found: Counter[str] = Counter()
        place = 0
        while place < len(words):
            length = self._longest(words, place)
            for id_ in self.ids[words[place : place + length]] if length else ():
                found[id_] += 1
            place += length or 1
        return found

    def _longest(self, words: Words, place: int) -> int:
        """The number of words of the longest name that begins here; 0 if none does."""
        lengths = self.lengths.get(words[place], ())
        return next((length for length in lengths if words[place : place + length] in self.ids), 0)
