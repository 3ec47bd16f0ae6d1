"""Division of texts: nothing is lost, nothing is too long, and offsets locate every chunk."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.ingest.documents.chunking import divide, title_of

TEXTS = st.text(alphabet="ab .\n#!。\t", max_size=300)


@given(TEXTS, st.integers(1, 40), st.integers(0, 20))
def test_chunks_cover_the_text_at_their_offsets_within_the_size(text: str, size: int, overlap: int) -> None:
    chunks = list(divide(text, size, min(overlap, size // 2)))
    covered: set[int] = set()
    for chunk in chunks:
        assert text[chunk.start : chunk.start + len(chunk.text)] == chunk.text
        assert 0 < len(chunk.text) <= size
        covered.update(range(chunk.start, chunk.start + len(chunk.text)))
    assert {place for place, char in enumerate(text) if not char.isspace()} <= covered
    assert [chunk.start for chunk in chunks] == sorted({chunk.start for chunk in chunks})


@given(TEXTS, st.integers(1, 40))
def test_without_an_overlap_no_character_is_repeated(text: str, size: int) -> None:
    joined = "".join(chunk.text for chunk in divide(text, size, 0))
    assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one two. three four\n\nfive six seven", "one two. three four"),
        ("one two three. four five six seven", "one two three."),
        ("one two three four five six seven", "one two three four"),
        ("a" * 60, "a" * 20),
        ("intro text here\n# Head\nbody of it", "intro text here"),
    ],
)
def test_the_best_boundary_divides(text: str, first: str) -> None:
    assert next(divide(text, 20, 0)).text == first


def test_an_overlap_repeats_whole_words_of_the_chunk_before() -> None:
    chunks = [chunk.text for chunk in divide("one two three four five six", 14, 6)]
    assert chunks == ["one two three", "three four", "four five six"]


def test_titles_are_headings_first_lines_or_file_names() -> None:
    assert title_of("\n## The  engine\n\ntext", "file") == "The  engine"
    assert title_of("First line\nsecond", "file") == "First line"
    assert title_of("x" * 300, "file") == "file"
    assert title_of(" \n", "file") == "file"
