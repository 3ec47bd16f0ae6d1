"""Rules of entity resolution as values: which entities are compared, how a pair is scored, and what a match is.

The tables ``SIMILARITIES`` and ``BLOCK_FUNCTIONS`` have one row for each word of a rule. The module imports no array
library: the command line reads it for its help.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from omnigraph.core.scalars import Scalar
from omnigraph.schema.types import PropertyType

THRESHOLD: Final = 0.85
"""Smallest score of a match. Default."""

EVIDENCE: Final = 0.5
"""Smallest share of the weights whose values both entities have. Default: two entities with nothing but an equal city
must not match."""

BLOCK_MAX: Final = 1_000
"""Largest block that is compared, in entities: half a million pairs. Default."""

CLUSTER_MAX: Final = 100
"""Largest cluster that is merged, in entities. Default: a larger one is a chain of weak matches, not one entity."""

LSH_TABLES: Final = 4
"""Keys of ``lsh`` for one vector. Near vectors miss each other only if all of them differ."""


class Similarity(StrEnum):
    """Functions of two values with a result from 0 to 1."""

    EXACT = "exact"
    JARO_WINKLER = "jaro_winkler"
    LEVENSHTEIN = "levenshtein"
    TOKENS = "tokens"
    NUMBER = "number"
    DATE = "date"
    COSINE = "cosine"


class Normalize(StrEnum):
    """Forms in which texts are compared."""

    NONE = "none"
    """As they are."""
    TEXT = "text"
    """Unicode NFKC, without case, with single spaces."""
    LETTERS = "letters"
    """The same without accents and punctuation."""


class Survivor(StrEnum):
    """Choices of the entity of a cluster that keeps its id."""

    COMPLETE = "complete"
    """The one with most properties, the smallest id among equals."""
    OLDEST = "oldest"
    """The smallest id: generated ids ascend with time."""


class Loops(StrEnum):
    """Treatment of edges between entities of one cluster."""

    KEEP = "keep"
    DROP = "drop"


class Parallels(StrEnum):
    """Treatment of edges that become equal in ends and properties, where the schema allows both."""

    KEEP = "keep"
    FOLD = "fold"


def _any_comparable(type_: PropertyType) -> bool:
    return type_.scalar.info.is_comparable


def _text(type_: PropertyType) -> bool:
    return type_.scalar is Scalar.STRING


def _number(type_: PropertyType) -> bool:
    return type_.is_number


def _moment(type_: PropertyType) -> bool:
    return type_.scalar.is_temporal and not type_.is_list


def _vector(type_: PropertyType) -> bool:
    return type_.is_vector


@dataclass(frozen=True, slots=True)
class SimilarityInfo:
    """One similarity. ``expected`` names the types it fits; ``within`` is the unit of the distance that counts as 0."""

    fits: Callable[[PropertyType], bool]
    expected: str
    within: str | None = None
    is_text: bool = False


SIMILARITIES: Final[Mapping[Similarity, SimilarityInfo]] = {
    Similarity.EXACT: SimilarityInfo(_any_comparable, "text, number, Bool, Date or DateTime", is_text=True),
    Similarity.JARO_WINKLER: SimilarityInfo(_text, "String or [String]", is_text=True),
    Similarity.LEVENSHTEIN: SimilarityInfo(_text, "String or [String]", is_text=True),
    Similarity.TOKENS: SimilarityInfo(_text, "String or [String]", is_text=True),
    Similarity.NUMBER: SimilarityInfo(_number, "number", "a number"),
    Similarity.DATE: SimilarityInfo(_moment, "Date or DateTime", "a number of days"),
    Similarity.COSINE: SimilarityInfo(_vector, "Vector"),
}


class BlockFunction(StrEnum):
    """Functions of a value whose results are parts of a block key."""

    VALUE = "value"
    PREFIX = "prefix"
    SOUNDEX = "soundex"
    TOKENS = "tokens"
    YEAR = "year"
    NEAR = "near"
    LSH = "lsh"


@dataclass(frozen=True, slots=True)
class BlockInfo:
    """One block function. ``number`` names its second argument and ``default`` is its value, if it may be omitted."""

    fits: Callable[[PropertyType], bool]
    expected: str
    number: str | None = None
    default: float | None = None
    number_max: float | None = None
    is_whole: bool = True


BLOCK_FUNCTIONS: Final[Mapping[BlockFunction, BlockInfo]] = {
    BlockFunction.VALUE: BlockInfo(_any_comparable, "text, number, Bool, Date or DateTime"),
    BlockFunction.PREFIX: BlockInfo(_text, "String or [String]", "characters", 4, 64),
    BlockFunction.SOUNDEX: BlockInfo(_text, "String or [String]"),
    BlockFunction.TOKENS: BlockInfo(_text, "String or [String]"),
    BlockFunction.YEAR: BlockInfo(_moment, "Date or DateTime"),
    BlockFunction.NEAR: BlockInfo(_number, "number", "width", is_whole=False),
    BlockFunction.LSH: BlockInfo(_vector, "Vector", "bits", 12, 60),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of a pair: its similarity counts with the ``weight``.

    ``within`` is the distance of numbers (``number``) or days (``date``) at which the similarity is 0. A pair below
    ``required`` never matches. If a value is missing the comparison is left out, or counts as ``missing``.
    """

    property: str
    by: Similarity
    weight: float = 1.0
    within: float | None = None
    required: float | None = None
    missing: float | None = None
    normalize: Normalize = Normalize.TEXT


@dataclass(frozen=True, slots=True)
class BlockPart:
    """A part of a block key: a function of a property."""

    function: BlockFunction
    property: str
    number: float | None = None

    def __str__(self) -> str:
        if self.function is BlockFunction.VALUE:
            return self.property
        return f"{self.function}({self.property}{'' if self.number is None else f', {self.number:g}'})"


@dataclass(frozen=True, slots=True)
class ResolveRules:
    """Rules of entity resolution. A pair is compared if it shares a key of one of the ``blocks``.

    The score of a pair is the mean of its similarities by weight. From ``threshold`` on it is a match; from ``review``
    on it is reported. Connected matches are a cluster, which becomes one entity.
    """

    compare: tuple[Comparison, ...]
    blocks: tuple[tuple[BlockPart, ...], ...] = ()
    threshold: float = THRESHOLD
    review: float | None = None
    evidence: float = EVIDENCE
    block_max: int = BLOCK_MAX
    cluster_max: int = CLUSTER_MAX
    survivor: Survivor = Survivor.COMPLETE
    self_loops: Loops = Loops.KEEP
    parallel_edges: Parallels = Parallels.KEEP

    @property
    def least(self) -> float:
        """The smallest score that is reported."""
        return self.threshold if self.review is None else min(self.review, self.threshold)

    @property
    def properties(self) -> tuple[str, ...]:
        """The properties that pairs are found and compared by."""
        named = [part.property for block in self.blocks for part in block]
        return tuple(dict.fromkeys([*named, *(item.property for item in self.compare)]))

    def score_names(self) -> tuple[str, ...]:
        """A name for each comparison: the property, and the similarity where a property is compared twice."""
        named: Sequence[str] = [item.property for item in self.compare]
        return tuple(
            item.property if named.count(item.property) == 1 else f"{item.property}_{item.by}" for item in self.compare
        )
