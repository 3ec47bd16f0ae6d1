"""Scores of pairs: the similarities of all comparisons, and their mean by weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.exec.resolve.edit_matrices import Numbers
from omnigraph.exec.resolve.edits import jaro_winkler, levenshtein
from omnigraph.exec.resolve.items import Items, Positions, ramps, text_items
from omnigraph.exec.resolve.rules import Comparison, ResolveRules, Similarity
from omnigraph.exec.resolve.texts import tokens
from omnigraph.schema.catalog import NodeType
from omnigraph.schema.types import PropertyType

SCORE_DIGITS: Final = 9
"""Decimal places of scores: the last digits of sums are noise, and must not decide."""

MILLISECONDS_PER_DAY: Final = 86_400_000

Known = npt.NDArray[np.bool_]
Measured = tuple[Numbers, Known]
"""Similarities, and where both records have a value."""

TextKernel = Callable[[pa.Array, pa.Array], Numbers]
"""Similarities of different texts."""


class Measure(Protocol):
    """One comparison, over all records."""

    def __call__(self, left: Positions, right: Positions) -> Measured: ...


@dataclass(frozen=True)
class PairScores:
    """The score of each pair, and the similarity of each comparison; NaN where a value is missing."""

    score: Numbers
    similarities: tuple[Numbers, ...]


class Scorer:
    """Comparisons of one set of records."""

    def __init__(self, records: pa.Table, node: NodeType, rules: ResolveRules) -> None:
        self._rules = rules
        self._measures = [_measure(records, node, comparison) for comparison in rules.compare]

    def scores(self, left: Positions, right: Positions) -> PairScores:
        """The scores of pairs of records."""
        total, present = np.zeros(len(left)), np.zeros(len(left))
        is_refused = np.zeros(len(left), bool)
        similarities: list[Numbers] = []
        for comparison, measure in zip(self._rules.compare, self._measures, strict=True):
            similarity, known = measure(left, right)
            similarity = np.round(similarity, SCORE_DIGITS)
            similarities.append(np.where(known, similarity, np.nan))
            if comparison.missing is not None:
                similarity, counted = np.where(known, similarity, comparison.missing), np.ones_like(known)
            else:
                counted = known
            total += np.where(counted, similarity * comparison.weight, 0.0)
            present += np.where(counted, comparison.weight, 0.0)
            if comparison.required is not None:
                is_refused |= counted & (similarity < comparison.required)
        weights = sum(comparison.weight for comparison in self._rules.compare)
        is_refused |= (present < self._rules.evidence * weights) | (present == 0)
        score: Numbers = np.where(is_refused, 0.0, total / np.where(present == 0, 1.0, present))
        return PairScores(np.round(score, SCORE_DIGITS), tuple(similarities))


def _measure(records: pa.Table, node: NodeType, comparison: Comparison) -> Measure:
    type_ = node.properties[comparison.property].type
    column = records.column(comparison.property).combine_chunks()
    match comparison.by:
        case Similarity.EXACT | Similarity.JARO_WINKLER | Similarity.LEVENSHTEIN | Similarity.TOKENS:
            return TextMeasure(text_items(column, type_, comparison.normalize), TEXT_KERNELS[comparison.by])
        case Similarity.NUMBER:
            return DistanceMeasure(_floats(column), comparison.within or 1.0)
        case Similarity.DATE:
            return DistanceMeasure(_days(column, type_), comparison.within or 1.0)
        case Similarity.COSINE:
            return CosineMeasure(column)


@dataclass(frozen=True)
class TextMeasure:
    """Texts, or lists of them: then the most similar pair of items counts."""

    items: Items
    kernel: TextKernel

    def __call__(self, left: Positions, right: Positions) -> Measured:
        counts = self.items.counts
        ones, others = counts[left], counts[right]
        pair, number = ramps(ones * others)
        starts = self.items.offsets
        left_item = starts[left][pair] + number // np.maximum(others[pair], 1)
        right_item = starts[right][pair] + number % np.maximum(others[pair], 1)
        similarity = np.zeros(len(left))
        np.maximum.at(similarity, pair, self._compared(self._codes[left_item], self._codes[right_item]))
        return similarity, (ones > 0) & (others > 0)

    @cached_property
    def _encoded(self) -> pa.DictionaryArray:
        return self.items.values.dictionary_encode()

    @cached_property
    def _codes(self) -> Positions:
        codes: Positions = self._encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return codes

    def _compared(self, left: Positions, right: Positions) -> Numbers:
        """Similarities of texts by their codes; equal and repeated pairs cost nothing."""
        similarity: Numbers = (left == right).astype(np.float64)
        different = np.flatnonzero(left != right)
        low, high = np.minimum(left, right)[different], np.maximum(left, right)[different]
        size = len(self._encoded.dictionary)
        pairs, places = np.unique(low * size + high, return_inverse=True)
        if len(pairs):
            texts = self._encoded.dictionary
            found = self.kernel(texts.take(pa.array(pairs // size)), texts.take(pa.array(pairs % size)))
            similarity[different] = found[places]
        return similarity


def _different(left: pa.Array, _right: pa.Array) -> Numbers:
    return np.zeros(len(left))


def _jaccard(left: pa.Array, right: pa.Array) -> Numbers:
    """Words that both texts have, as a share of the words that one of them has."""
    words: dict[str, frozenset[str]] = {}
    for text in {*left.to_pylist(), *right.to_pylist()}:
        words[text] = tokens(text)
    found = np.zeros(len(left))
    for place, (one, other) in enumerate(zip(left.to_pylist(), right.to_pylist(), strict=True)):
        first, second = words[one], words[other]
        common = len(first & second)
        found[place] = common / (len(first) + len(second) - common) if common else 0.0
    return found


TEXT_KERNELS: Final[Mapping[Similarity, TextKernel]] = {
    Similarity.EXACT: _different,
    Similarity.JARO_WINKLER: jaro_winkler,
    Similarity.LEVENSHTEIN: levenshtein,
    Similarity.TOKENS: _jaccard,
}


@dataclass(frozen=True)
class DistanceMeasure:
    """Numbers; NaN is a missing one. The similarity falls from 1 to 0 over the distance ``within``."""

    values: Numbers
    within: float

    def __call__(self, left: Positions, right: Positions) -> Measured:
        ones, others = self.values[left], self.values[right]
        known = ~(np.isnan(ones) | np.isnan(others))
        with np.errstate(invalid="ignore"):
            # Equal infinities have no distance.
            distance = np.where(ones == others, 0.0, np.abs(ones - others))
        return np.where(known, np.clip(1 - np.where(known, distance, 0.0) / self.within, 0, 1), 0.0), known


class CosineMeasure:
    """Vectors; opposite ones have no similarity."""

    def __init__(self, column: pa.Array) -> None:
        self._known = column.is_valid().to_numpy(zero_copy_only=False)
        filled = np.zeros((len(column), column.type.list_size), np.float32)
        filled[self._known] = column.drop_null().flatten().to_numpy(zero_copy_only=False).reshape(-1, filled.shape[1])
        self._vectors = filled

    def __call__(self, left: Positions, right: Positions) -> Measured:
        ones, others = (self._vectors[side].astype(np.float64) for side in (left, right))
        products = np.einsum("nd,nd->n", ones, others)
        norms = np.sqrt(np.einsum("nd,nd->n", ones, ones) * np.einsum("nd,nd->n", others, others))
        similarity = np.clip(np.nan_to_num(products / np.where(norms > 0, norms, 1.0)), 0, 1)
        return similarity, self._known[left] & self._known[right]


def _floats(column: pa.Array) -> Numbers:
    values: Numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


def _days(column: pa.Array, type_: PropertyType) -> Numbers:
    if pa.types.is_date32(column.type):
        return _floats(column.view(pa.int32()))
    assert type_.scalar.is_temporal
    return _floats(column.view(pa.int64())) / MILLISECONDS_PER_DAY
