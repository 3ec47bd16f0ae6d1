"""Distributed BM25: every partition counts words, and the sums of all counts give every score.

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
"""Lance's BM25 constants: saturation of term frequency, and normalization by length."""

SEPARATOR = "omnigraphseparator"
"""A word between pieces of texts that are analyzed together."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TextCounts:
    """The statistics of BM25: texts that have words, words in all of them, and texts that hold each query word."""

    texts: int
    words: int
    holding: tuple[int, ...]

    @classmethod
    def sum(cls, parts: Iterable[TextCounts], words: Sequence[str]) -> TextCounts:
        """The sum of the counts of several partitions."""
        total = np.zeros(2 + len(words), np.int64)
        for part in parts:
            total += np.array([part.texts, part.words, *part.holding])
        texts, every, *holding = total.tolist()
        return cls(texts, every, tuple(holding))

    @property
    def found_max(self) -> int:
        """Upper bound of the texts that hold one of the words."""
        return min(self.texts, sum(self.holding))


class CountedTexts:
    """Some texts of a column, and the frequency of the query words in each."""

    def __init__(self, texts: pa.Array, words: Sequence[str]) -> None:
        # Most pieces occur in many texts: each distinct piece is analyzed once.
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
        """Sum counts of pieces by text.

        Texts "a b", "b", "" are pieces [0, 1, 1] of texts [0, 0, 1]; counts [2, 3] of the pieces give [5, 3, 0].
        """
        # Float64 holds integers of this size exactly, and bincount sums it faster.
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
        # As Lance does: in the order of the query, and twice for a word that occurs twice. Float addition is not
        # associative, so another order would give other scores.
        for word, holding in zip(self._words, total.holding, strict=True):
            here = np.flatnonzero(self._times[word])
            times = self._times[word][here].astype(np.float32)
            long = one - B + B * self._lengths[here].astype(np.float32) / length
            scores[here] += _weight(holding, total.texts) * ((K1 + one) * times / (times + K1 * long))
            found[here] = True
        rows = np.flatnonzero(found)
        return Found(rows, scores[rows])


def _analyzed(pieces: list[str], words: set[str]) -> tuple[Counts, dict[str, Counts]]:
    """The number of words of every piece, and the frequency of each query word in it.

    No word contains white space, so pieces between white space can be analyzed in one call, joined by a separator:
    pieces ["a-b", "c"] become words [a, b, SEPARATOR, c], and the running count of separators [0, 0, 1, 1] numbers the
    pieces.
    """
    [separator] = words_of(SEPARATOR)
    found = pa.array(words_of(f" {SEPARATOR} ".join(pieces)), pa.string())
    between = pc.equal(found, separator).to_numpy(zero_copy_only=False)
    piece = np.cumsum(between)
    if np.count_nonzero(between) != max(len(pieces) - 1, 0):
        # A piece contains the separator itself: analyze every piece on its own.
        apart = [words_of(text) for text in pieces]
        found = pa.array([word for one in apart for word in one], pa.string())
        piece = np.repeat(np.arange(len(pieces)), [len(one) for one in apart])
        between = np.zeros(len(found), bool)

    piece, found = piece[~between], found.filter(pa.array(~between))

    def holding(word: str) -> Counts:
        return np.bincount(piece[pc.equal(found, word).to_numpy(zero_copy_only=False)], minlength=len(pieces))

    return np.bincount(piece, minlength=len(pieces)), {word: holding(word) for word in words}


def _weight(holding: int, texts: int) -> np.float32:
    """Inverse document frequency of a word."""
    half = np.float32(0.5)
    rarity = (np.float32(texts) - np.float32(holding) + half) / (np.float32(holding) + half) + np.float32(1)
    # Arrow uses the logarithm of the C library, as Lance does. NumPy's own may differ in the last bit.
    return np.float32(pc.ln(pa.scalar(rarity, pa.float32())).as_py())
