"""BM25 of texts that lie in several places: every place counts words, and the sums of all counts give every score.

Scores are those of Lance's full-text index over all the texts together, to the last bit: its analyzer, and its formula
in floats of 32 bits. ``text_index`` searches texts that one process holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.index.text_index import Found, words_of

K1 = np.float32(1.2)
B = np.float32(0.75)
"""Lance's constants: how soon another occurrence of a word counts less, and how much the length of a text matters."""

SEPARATOR = "omnigraphseparator"
"""A word that stands between pieces of texts which are analyzed together."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TextCounts:
    """What scores depend on: texts that have words, words in all of them, and texts that hold each word asked for."""

    texts: int
    words: int
    holding: tuple[int, ...]

    @classmethod
    def sum(cls, parts: Iterable[TextCounts], words: Sequence[str]) -> TextCounts:
        """The counts of several places together."""
        total = np.zeros(2 + len(words), np.int64)
        for part in parts:
            total += np.array([part.texts, part.words, *part.holding])
        texts, every, *holding = total.tolist()
        return cls(texts, every, tuple(holding))

    @property
    def found_max(self) -> int:
        """Texts that hold one of the words, at most."""
        return min(self.texts, sum(self.holding))


class CountedTexts:
    """Some texts of a column, and how often each holds the words that are asked for."""

    def __init__(self, texts: pa.Array, words: Sequence[str]) -> None:
        # Most pieces are in many texts. Each is analyzed once.
        pieces = pc.ascii_split_whitespace(texts)
        encoded = pieces.flatten().dictionary_encode()
        self._rows = len(texts)
        self._texts: Counts = pc.list_parent_indices(pieces).to_numpy()
        self._pieces: Counts = encoded.indices.to_numpy()
        self._words = tuple(words)
        lengths, held = _analyzed(encoded.dictionary.to_pylist(), set(words))
        self._lengths = self._added(lengths)
        self._times = {word: self._added(counts) for word, counts in held.items()}

    def _added(self, counts: Counts) -> Counts:
        """What is counted in pieces, added up by text."""
        # Floats hold whole numbers of this size exactly, and are added faster.
        weights = counts[self._pieces].astype(np.float64)
        return np.bincount(self._texts, weights, self._rows).astype(np.int64)

    def counts(self) -> TextCounts:
        """The counts of these texts."""
        holding = [int(np.count_nonzero(self._times[word])) for word in self._words]
        return TextCounts(int(np.count_nonzero(self._lengths)), int(self._lengths.sum()), tuple(holding))

    def scored(self, total: TextCounts) -> Found:
        """The texts that hold one of the words, and their scores among all texts that are counted in ``total``."""
        scores = np.zeros(self._rows, np.float32)
        found = np.zeros(self._rows, bool)
        one, length = np.float32(1), np.float32(total.words) / np.float32(max(total.texts, 1))
        # As Lance does: in the order in which words are asked for, and twice if a word is asked for twice.
        for word, holding in zip(self._words, total.holding, strict=True):
            here = np.flatnonzero(self._times[word])
            times = self._times[word][here].astype(np.float32)
            long = one - B + B * self._lengths[here].astype(np.float32) / length
            scores[here] += _weight(holding, total.texts) * ((K1 + one) * times / (times + K1 * long))
            found[here] = True
        rows = np.flatnonzero(found)
        return Found(rows, scores[rows])


def _analyzed(pieces: list[str], words: set[str]) -> tuple[Counts, dict[str, Counts]]:
    """How many words every piece has, and how often it holds those that are asked for.

    No word reaches beyond white space, so pieces between white space can be analyzed in any company.
    """
    [separator] = words_of(SEPARATOR)
    found = pa.array(words_of(f" {SEPARATOR} ".join(pieces)), pa.string())
    between = pc.equal(found, separator).to_numpy(zero_copy_only=False)
    piece = np.cumsum(between)
    if np.count_nonzero(between) != max(len(pieces) - 1, 0):
        # A piece holds the separator itself.
        apart = [words_of(text) for text in pieces]
        found = pa.array([word for one in apart for word in one], pa.string())
        piece = np.repeat(np.arange(len(pieces)), [len(one) for one in apart])
        between = np.zeros(len(found), bool)

    piece, found = piece[~between], found.filter(pa.array(~between))

    def holding(word: str) -> Counts:
        return np.bincount(piece[pc.equal(found, word).to_numpy(zero_copy_only=False)], minlength=len(pieces))

    return np.bincount(piece, minlength=len(pieces)), {word: holding(word) for word in words}


def _weight(holding: int, texts: int) -> np.float32:
    """How much a word says: the fewer texts hold it, the more."""
    half = np.float32(0.5)
    rarity = (np.float32(texts) - np.float32(holding) + half) / (np.float32(holding) + half) + np.float32(1)
    # Arrow asks the C library for the logarithm, as Lance does. NumPy computes its own, which may differ in a bit.
    return np.float32(pc.ln(pa.scalar(rarity, pa.float32())).as_py())
