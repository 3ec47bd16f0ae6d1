"""Scores of texts that are counted in parts are those of Lance's index over all of them, to the last bit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omnigraph.storage.index.relevance import SEPARATOR, CountedTexts, TextCounts
from omnigraph.storage.index.text_index import TextIndex, words_of

WORDS = ["stone", "stones", "Running", "the", "Größe", "naïve", "日本", "a-b", "o'clock", "x_y", "3.5", "🦀", SEPARATOR]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\x0b", "\x1c", "\u200b"]
pieces = st.sampled_from(WORDS) | st.text(max_size=6)
texts = st.lists(st.tuples(pieces, st.sampled_from(SPACES)), max_size=20).map(
    lambda pairs: "".join(piece + space for piece, space in pairs)
)


def scored(parts: list[list[str | None]], query: str) -> dict[int, np.float32]:
    """The scores by row, each part counted on its own."""
    words = words_of(query)
    counted = [CountedTexts(pa.array(part, pa.string()), words) for part in parts]
    total = TextCounts.sum((part.counts() for part in counted), words)
    scores: dict[int, np.float32] = {}
    start = 0
    for part, texts in zip(counted, parts, strict=True):
        found = part.scored(total)
        assert len(found.rows) <= total.found_max
        scores |= {start + int(row): score for row, score in zip(found.rows, found.scores, strict=True)}
        start += len(texts)
    return scores


def expected(parts: list[list[str | None]], query: str) -> dict[int, np.float32]:
    found = TextIndex.build(pa.array([text for part in parts for text in part], pa.string())).search(query, 0)
    return {int(row): score for row, score in zip(found.rows, found.scores, strict=True)}


@given(st.lists(st.lists(st.none() | texts, max_size=8), max_size=4), texts)
@settings(max_examples=40)
@example([[f"a {SEPARATOR}", "stone", None, ""], [], ["stones stone", "\t"]], f"stone {SEPARATOR} stone")
@example([["stone"]], SEPARATOR)
def test_texts_may_be_counted_in_parts(parts: list[list[str | None]], query: str) -> None:
    assert scored(parts, query) == expected(parts, query)


def test_long_texts_and_many_words_are_counted_exactly() -> None:
    drawn = np.random.default_rng(0)
    vocabulary = np.array([f"w{number}" for number in range(300)])
    made = [" ".join(drawn.choice(vocabulary, drawn.integers(0, 60))) for _ in range(3_000)]
    made[7] = "w1 " * 5_000 + "w2 " * 70_000
    parts: list[list[str | None]] = [made[:1], made[1:900], made[900:]]
    for query in ("w1", "w2 w1 w2", " ".join(vocabulary[:40])):
        assert scored(parts, query) == expected(parts, query)


@pytest.mark.parametrize("holding", [1, 52, 228, 742, 990])
def test_a_word_weighs_what_it_weighs_to_lance(holding: int) -> None:
    # Shares whose logarithm differs in a bit from NumPy's, in 32 bits (52) or rounded from 64 (the others but 1).
    parts: list[list[str | None]] = [["hit"] * holding, ["miss"] * (1_000 - holding)]
    assert scored(parts, "hit") == expected(parts, "hit")
