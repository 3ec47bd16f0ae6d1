"""A set of texts in memory that tells of many texts at a time whether it holds all of them.

A text is found by its hash and compared in full, so "all of them" is exact. "Not all of them" may be wrong, in rare
cases, where hashes are similar: a database then finds the missing ones. For ten million texts this takes half of the
memory of a database's hash table, and a third of its time.

Example with four buckets, chosen by the first two bits of a hash; ``shorts`` are its low bits:

======  ====  ======  ======
bucket  slot  shorts  places
======  ====  ======  ======
0       0     7       2
1       1     3       0
1       2     9       3
3       3     1       1
======  ====  ======  ======

``firsts`` is [0, 1, 1, 3]. A text of bucket 1 with the low bits 9 is looked for in slot 1, then in slot 2, and compared
with text 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.keys import MASK, MIX, WORD

PROBES_MAX: Final = 32
"""Largest bucket. Hashes of different texts are spread evenly; only texts that were chosen to collide fill one."""

SLOT_BYTES: Final = 20
"""Bytes of a text beside its own: offset, half of a hash, place, and up to two buckets."""


Hashes = npt.NDArray[np.uint64]
Integers = npt.NDArray[Any]

_SPREAD: Final = np.uint64(MIX[2])
"""Odd, so that different hashes stay different."""

PADDING: Final = np.zeros(WORD - 1, np.uint8)


@dataclass(frozen=True)
class TextBytes:
    """The texts of a column. A null counts as an empty text."""

    data: npt.NDArray[np.uint8]
    """The bytes of the texts, and seven more, so that a word starts at each of them."""
    starts: Integers
    ends: Integers

    @classmethod
    def of(cls, texts: pa.Array) -> TextBytes:
        """The texts of a ``utf8`` array. Of a slice only its own bytes are read."""
        offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
        data = texts.buffers()[2]
        bytes_ = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
        own = offsets.astype(np.int64) - offsets[0]
        return cls(np.concatenate((bytes_, PADDING)), own[:-1], own[1:])

    def hashes(self) -> Hashes:
        """A 64-bit hash of every text, stable across processes."""
        first, second, third = (np.uint64(number) for number in MIX)
        lengths = self.ends - self.starts
        mixed = lengths.astype(np.uint64) * third
        for done, rows in _passes(lengths):
            turned = mixed[rows] ^ (self._words(self.starts[rows], lengths[rows], done) * first)
            mixed[rows] = (turned ^ (turned >> np.uint64(29))) * second
        whole: Hashes = mixed ^ (mixed >> np.uint64(32))
        return whole

    def equal_those_at(self, others: TextBytes, places: Integers) -> bool:
        """True if every text equals the one of ``others`` at its place."""
        starts, lengths = others.starts[places].astype(np.int64), self.ends - self.starts
        if not np.array_equal(others.ends[places] - starts, lengths):
            return False
        return all(
            np.array_equal(
                others._words(starts[rows], lengths[rows], done), self._words(self.starts[rows], lengths[rows], done)
            )
            for done, rows in _passes(lengths)
        )

    def _words(self, starts: Integers, lengths: Integers, done: int) -> Hashes:
        """The eight bytes of texts behind their first ``done`` bytes, without what follows the texts."""
        # A view of overlapping numbers, one from every byte on.
        words: Hashes = np.ndarray((len(self.data) - WORD + 1,), "<u8", self.data, strides=(1,))
        found: Hashes = words[starts + done]
        left = lengths - done
        if int(left.min(initial=WORD)) >= WORD:
            return found
        spare = WORD - np.minimum(left, WORD)
        within: Hashes = found & (np.uint64(MASK) >> (spare.astype(np.uint64) * np.uint64(8)))
        return within


@dataclass(frozen=True)
class TextSet:
    """Texts by hash: all of them, or those of one part of several, which the hash chooses."""

    texts: TextBytes
    firsts: npt.NDArray[np.uint32]
    """By bucket: its first slot; of an empty one that of an earlier one."""
    shorts: npt.NDArray[np.uint32]
    places: npt.NDArray[np.int32]
    largest: int
    """Slots of the largest bucket."""
    has_distinct_hashes: bool
    """Then the texts are distinct too."""
    part: int
    parts: int

    @classmethod
    def of(cls, columns: Iterable[pa.Array], part: int = 0, parts: int = 1) -> TextSet | None:
        """The texts of some columns without nulls; None if there are none, or if too many have similar hashes."""
        data, hashed, ends, size = bytearray(), bytearray(), bytearray(), 0
        for column in columns:
            texts, mixed = _of_part(column, part, parts)
            data += texts.data[: len(texts.data) - len(PADDING)].data
            hashed += mixed.data
            ends += (texts.ends + size).astype(np.uint32).data
            size = len(data)
            if size >= 2**32:
                return None
        if not hashed:
            return None
        data += PADDING.data
        offsets = np.concatenate((np.zeros(1, np.uint32), np.frombuffer(ends, np.uint32)))
        del ends
        # Millions of texts: each array is released before the next ones are made.
        places = np.argsort(np.frombuffer(hashed, np.uint64)).astype(np.int32)
        ordered = np.frombuffer(hashed, np.uint64)[places]
        del hashed
        held = TextBytes(np.frombuffer(data, np.uint8), offsets[:-1], offsets[1:])
        return cls._indexed(held, ordered, places, part, parts)

    @classmethod
    def _indexed(
        cls, texts: TextBytes, ordered: Hashes, places: npt.NDArray[np.int32], part: int, parts: int
    ) -> TextSet | None:
        """The set of texts by their ascending hashes and the place of each."""
        bits = max(len(ordered) - 1, 1).bit_length()
        is_distinct = not bool((ordered[1:] == ordered[:-1]).any())
        shorts = ordered.astype(np.uint32)
        buckets = (ordered >> np.uint64(64 - bits)).astype(np.uint32)
        starts = np.concatenate(([0], np.flatnonzero(buckets[1:] != buckets[:-1]) + 1, [len(buckets)]))
        largest = int(np.diff(starts).max())
        if largest > PROBES_MAX:
            return None
        firsts = np.zeros(1 << bits, np.uint32)
        firsts[buckets[starts[:-1]]] = starts[:-1]
        np.maximum.accumulate(firsts, out=firsts)
        # Behind the last bucket as many slots as any text is looked for in: they lead to a text that it does not equal.
        spare = np.zeros(largest, np.int32)
        shorts = np.concatenate((shorts, spare.astype(np.uint32)))
        return cls(texts, firsts, shorts, np.concatenate((places, spare)), largest, is_distinct, part, parts)

    def holds_all(self, column: pa.Array) -> bool:
        """True if all texts of a column without nulls are in the set; of several parts, those of its part."""
        texts, hashed = _of_part(column, self.part, self.parts)
        if not len(hashed):
            return True
        shift = np.uint64(64 - (len(self.firsts) - 1).bit_length())
        slots = self.firsts[hashed >> shift].astype(np.int64)
        wanted = hashed.astype(np.uint32)
        left = np.flatnonzero(self.shorts[slots] != wanted)
        for _ in range(self.largest - 1):
            if not len(left):
                break
            slots[left] += 1
            left = left[self.shorts[slots[left]] != wanted[left]]
        return not len(left) and texts.equal_those_at(self.texts, self.places[slots])


def starts_of_runs(texts: pa.Array) -> Integers:
    """The places of texts that differ from the one before them."""
    changes = pc.not_equal(texts.slice(1), texts.slice(0, len(texts) - 1)).to_numpy(zero_copy_only=False)
    return np.concatenate((np.zeros(1, np.int64), np.flatnonzero(changes) + 1))


def counted_runs(texts: pa.Array, times: Integers) -> tuple[pa.Array, Integers]:
    """The texts and how often each occurs, with one in place of consecutive equal ones if that saves enough.

    Edges are often sorted by one of their ends.
    """
    if len(texts) < 2:
        return texts, times
    starts = starts_of_runs(texts)
    if len(starts) * 4 > len(texts) * 3:
        return texts, times
    return texts.take(pa.array(starts)), np.add.reduceat(times, starts)


def _of_part(column: pa.Array, part: int, parts: int) -> tuple[TextBytes, Hashes]:
    """The texts of a part, and their hashes, spread again: those of a bucket of a cluster begin alike."""
    texts = TextBytes.of(column)
    hashed = texts.hashes()
    if parts > 1:
        own = hashed % np.uint64(parts) == np.uint64(part)
        texts, hashed = TextBytes.of(column.filter(pa.array(own))), hashed[own]
    return texts, hashed * _SPREAD


def _passes(lengths: Integers) -> Iterator[tuple[int, Any]]:
    """For every word of the longest text: the number of bytes before it, and the rows that have it."""
    for done in range(0, int(lengths.max(initial=0)), WORD):
        longer = np.flatnonzero(lengths > done)
        yield done, slice(None) if len(longer) == len(lengths) else longer
