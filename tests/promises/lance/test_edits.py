"""Words within some edits: those of the index and those of the query are analyzed alike."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omnigraph.storage.index.text_index import TextIndex, words_of

WORDS = [
    "stone",
    "Stones",
    "running",
    "RUNNER",
    "the",
    "learning",
    "lerning",
    "Introduction",
    "introductoin",
    "a-b",
    "x",
]
pieces = st.sampled_from(WORDS) | st.text(alphabet="abcXYZ'-. ", max_size=5)
texts = st.lists(pieces, max_size=4).map(" ".join)


def edits_between(left: str, right: str) -> int:
    """Levenshtein distance."""
    row = list(range(len(right) + 1))
    for number, letter in enumerate(left, 1):
        above, row = row, [number]
        for place, other in enumerate(right):
            row.append(min(above[place] + (letter != other), above[place + 1] + 1, row[place] + 1))
    return row[-1]


def is_found(text: str, query: str, edits: int) -> bool:
    return any(edits_between(word, asked) <= edits for word in words_of(text) for asked in words_of(query))


@given(st.lists(texts, max_size=6), texts, st.integers(0, 2))
@settings(max_examples=60)
@example(["Introduction to Machine Learning", "other"], "Introduction", 1)
@example(["Introduction to Machine Learning", "learning"], "lerning", 2)
@example(["stone", "the"], "The of", 2)
def test_a_text_is_found_that_has_a_word_within_the_edits_of_an_analyzed_word(
    made: list[str], query: str, edits: int
) -> None:
    found = TextIndex.build(pa.array(made, pa.string())).search(query, edits)
    assert sorted(found.rows.tolist()) == [row for row, text in enumerate(made) if is_found(text, query, edits)]
