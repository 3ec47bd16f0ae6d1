"""Jaro-Winkler and Levenshtein similarity over code points, for arrays of pairs.

Pairs of similar length share a matrix, one row per pair, and every step works on all of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

PREFIX_CHARS: Final = 4
PREFIX_SCALE: Final = 0.1
PREFIX_FROM: Final = 0.7
"""Winkler's bonus for a common prefix: its length, its factor, and the smallest similarity that gets it."""

_CELLS: Final = 4_000_000
"""Cells of the matrices of one step: they stay in the processor's cache, and memory is bounded."""

Numbers = npt.NDArray[np.float64]
Points = npt.NDArray[np.uint32]
"""Code points, a row per text, padded with zeros."""
Lengths = npt.NDArray[np.int64]
Kernel = Callable[[Points, Points, Lengths, Lengths], Numbers]


def jaro_winkler(left: Sequence[str], right: Sequence[str]) -> Numbers:
    """Jaro similarity with a bonus for a common prefix: 1 for equal texts, 0 for texts without a common character."""
    return _by_length(_jaro_winkler, left, right)


def levenshtein(left: Sequence[str], right: Sequence[str]) -> Numbers:
    """1 minus the edit distance divided by the length of the longer text."""
    return _by_length(_levenshtein, left, right)


def _by_length(kernel: Kernel, left: Sequence[str], right: Sequence[str]) -> Numbers:
    """Run a kernel on pairs in groups of similar length, so that short texts pay for no padding."""
    texts = (left, right)
    lengths = [np.fromiter(map(len, side), np.int64, len(side)) for side in texts]
    found = np.zeros(len(left))
    longest = np.maximum(*lengths)
    order = np.argsort(longest, kind="stable")
    start = 0
    while start < len(order):
        # A group ends where texts are a third longer than its first, or its matrix would be too large.
        first = max(8, int(longest[order[start]]))
        end = int(np.searchsorted(longest[order], first + first // 3, side="right"))
        end = min(end, start + max(1, _CELLS // (first + first // 3)))
        chosen = order[start:end]
        ones, others = (_points([side[place] for place in chosen]) for side in texts)
        found[chosen] = kernel(ones, others, lengths[0][chosen], lengths[1][chosen])
        start = end
    return found


def _points(texts: list[str]) -> Points:
    """Texts as rows of code points. NUL looks like padding, so it becomes a private character."""
    safe = [text.replace("\0", "\ue000") if "\0" in text else text for text in texts]
    fixed = np.array(safe, dtype=np.str_)
    width = fixed.dtype.itemsize // 4
    points: Points = fixed.view(np.uint32).reshape(len(texts), width) if width else np.zeros((len(texts), 0), np.uint32)
    return points


def _jaro_winkler(left: Points, right: Points, left_lengths: Lengths, right_lengths: Lengths) -> Numbers:
    matched, halves = _jaro_matches(left, right, left_lengths, right_lengths)
    safe = np.maximum(matched, 1)
    jaro = (
        matched / np.maximum(left_lengths, 1) + matched / np.maximum(right_lengths, 1) + (matched - halves // 2) / safe
    ) / 3
    jaro = np.where(matched > 0, jaro, 0.0)
    both_empty = (left_lengths == 0) & (right_lengths == 0)
    width = min(PREFIX_CHARS, left.shape[1], right.shape[1])
    alike = (left[:, :width] == right[:, :width]) & (left[:, :width] > 0)
    prefix = np.logical_and.accumulate(alike, axis=1).sum(axis=1) if width else np.zeros(len(left))
    bonus = np.where(jaro > PREFIX_FROM, prefix * PREFIX_SCALE * (1 - jaro), 0.0)
    boosted: Numbers = np.where(both_empty, 1.0, jaro + bonus)
    return boosted


def _jaro_matches(
    left: Points, right: Points, left_lengths: Lengths, right_lengths: Lengths
) -> tuple[Lengths, Lengths]:
    """Matched characters of each pair, and how many of them are at different places among the matched ones.

    A character matches the first free equal one at most ``window`` places away.
    """
    pairs, width = right.shape
    window = np.maximum(np.maximum(left_lengths, right_lengths) // 2 - 1, 0)
    places = np.arange(width)
    is_free = places[None, :] < right_lengths[:, None]
    partner = np.full(left.shape, -1, np.int64)
    rows = np.arange(pairs)
    for place in range(left.shape[1]):
        if not width:
            break
        is_near = np.abs(places[None, :] - place) <= window[:, None]
        fits = is_free & is_near & (right == left[:, place, None])
        first = fits.argmax(axis=1)
        is_matched = fits[rows, first] & (place < left_lengths)
        partner[is_matched, place] = first[is_matched]
        is_free[rows[is_matched], first[is_matched]] = False
    is_left = partner >= 0
    matched = is_left.sum(axis=1)
    if not width:
        return matched, np.zeros(pairs, np.int64)
    is_right = np.zeros(right.shape, bool)
    owner, column = np.nonzero(is_left)
    is_right[owner, partner[owner, column]] = True
    # The k-th matched character of either side: both sides have the same number of them in every row.
    moved = left[is_left] != right[is_right]
    halves = np.bincount(owner, moved, minlength=pairs).astype(np.int64)
    return matched, halves


def _levenshtein(left: Points, right: Points, left_lengths: Lengths, right_lengths: Lengths) -> Numbers:
    """Wagner-Fischer, a row of the table per step; the running minimum replaces the loop over insertions.

    Distances beyond the end of a shorter text are computed and never read.
    """
    pairs, width = right.shape
    ramp = np.arange(width + 1, dtype=np.int16)
    row = np.broadcast_to(ramp, (pairs, width + 1)).copy()
    result = row[np.arange(pairs), right_lengths].astype(np.int64)
    for place in range(left.shape[1]):
        changed = row[:, :-1] + (right != left[:, place, None])
        following = np.empty_like(row)
        following[:, 0] = place + 1
        following[:, 1:] = np.minimum(row[:, 1:] + 1, changed)
        row = np.minimum.accumulate(following - ramp, axis=1) + ramp
        is_last = left_lengths == place + 1
        if is_last.any():
            result[is_last] = row[is_last, right_lengths[is_last]]
    result = np.where(left_lengths == 0, right_lengths, result)
    longest = np.maximum(left_lengths, right_lengths)
    similarity: Numbers = 1 - result / np.maximum(longest, 1)
    return similarity
