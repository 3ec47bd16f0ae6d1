"""``contains`` over a column of texts.

Arrow tests text by text, one byte at a time. A substring that few texts have is found several times faster by one
search through the bytes of all texts, because that search skips ahead. Bytes suffice: in UTF-8 no character is part of
another.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

SEARCHED_MIN = 4_096
"""Texts from which a search through all bytes pays off."""

SAMPLE_TEXTS = 512
RARE_SHARE = 16
"""A substring is rare if at most one text of the sample in this many contains it: every hit costs a step of Python."""


def contains(texts: pa.Array | pa.Scalar, part: str) -> pa.Array | pa.Scalar:
    """For every text whether it contains the part; null for a null text."""
    if not isinstance(texts, pa.Array) or len(texts) < SEARCHED_MIN or not part or not _is_rare(texts, part):
        return pc.match_substring(texts, part)
    return searched(texts, part)


def searched(texts: pa.Array, part: str) -> pa.Array:
    """The same for a part that is not empty, by one search through all bytes."""
    found = np.zeros(len(texts), bool)
    found[_texts_with(texts, part.encode())] = True
    missing = pc.is_null(texts).to_numpy(zero_copy_only=False) if texts.null_count else None
    return pa.array(found, mask=missing)


def _is_rare(texts: pa.Array, part: str) -> bool:
    places = np.linspace(0, len(texts) - 1, SAMPLE_TEXTS).astype(np.int64)
    hits = pc.match_substring(texts.take(pa.array(places)), part)
    return (pc.sum(hits).as_py() or 0) * RARE_SHARE <= SAMPLE_TEXTS


def _texts_with(texts: pa.Array, part: bytes) -> npt.NDArray[np.int64]:
    """The positions of the texts that contain the part.

    Example: the texts "ab", "a", "bab" and the part "ab"::

        bytes    a b a b a b     hits   0  2  4
        offsets  0 2 3 6         text   0  1  2
        ends     2 3 6           the hit at 2 ends at 4, beyond the end of text 1: it is none
    """
    _, offsets, data = texts.buffers()
    if data is None:
        return np.zeros(0, np.int64)
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    first, last = int(bounds[0]), int(bounds[-1])
    pattern = re.compile(re.escape(part))
    hits = np.fromiter((hit.start() for hit in pattern.finditer(memoryview(data)[first:last])), np.int64) + first
    text = np.searchsorted(bounds, hits, side="right") - 1
    is_inside = hits + len(part) <= bounds[text + 1]
    # The search continues behind a hit, so one across two texts may hide one inside the next text.
    beyond = np.searchsorted(bounds, hits[~is_inside] + len(part) - 1, side="right") - 1
    doubtful = [np.arange(start, stop + 1) for start, stop in zip(text[~is_inside] + 1, beyond, strict=True)]
    places = np.concatenate([*doubtful, np.zeros(0, np.int64)])
    hidden = pc.match_substring(texts.take(pa.array(places)), part.decode())
    return np.concatenate((text[is_inside], places[pc.fill_null(hidden, False).to_numpy(zero_copy_only=False)]))
