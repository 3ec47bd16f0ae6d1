"""Similarities against their definitions, one pair at a time."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.exec.resolve import edits

WORDS = st.lists(st.text(alphabet="abcé漢\0", max_size=12), min_size=1, max_size=20)


def plain_levenshtein(left: str, right: str) -> float:
    row = list(range(len(right) + 1))
    for i, one in enumerate(left, 1):
        following = [i]
        for j, other in enumerate(right, 1):
            following.append(min(row[j] + 1, following[-1] + 1, row[j - 1] + (one != other)))
        row = following
    longest = max(len(left), len(right))
    return 1 - row[-1] / longest if longest else 1.0


def plain_jaro_winkler(left: str, right: str) -> float:
    window = max(max(len(left), len(right)) // 2 - 1, 0)
    used = [False] * len(right)
    matched = []
    for i, one in enumerate(left):
        for j in range(max(0, i - window), min(len(right), i + window + 1)):
            if not used[j] and right[j] == one:
                used[j] = True
                matched.append(one)
                break
    others = [char for char, is_used in zip(right, used, strict=True) if is_used]
    if not matched:
        return 0.0
    moved = sum(one != other for one, other in zip(matched, others, strict=True)) // 2
    count = len(matched)
    jaro = (count / len(left) + count / len(right) + (count - moved) / count) / 3
    prefix = 0
    for one, other in zip(left[:4], right[:4], strict=False):
        if one != other:
            break
        prefix += 1
    return jaro + prefix * 0.1 * (1 - jaro) if jaro > 0.7 else jaro


@given(WORDS, WORDS)
def test_similarities_are_those_of_their_definitions(left: list[str], right: list[str]) -> None:
    # Equal texts are never compared, and null stands for an empty one.
    pairs = [(one, other) for one, other in zip(left, right, strict=False) if one and other and one != other]
    ones, others = (pa.array([pair[side] for pair in pairs], pa.string()) for side in (0, 1))
    assert edits.levenshtein(ones, others).tolist() == pytest.approx([plain_levenshtein(*pair) for pair in pairs])
    assert edits.jaro_winkler(ones, others).tolist() == pytest.approx([plain_jaro_winkler(*pair) for pair in pairs])


@given(WORDS, WORDS)
def test_a_pair_has_the_same_score_in_any_company(left: list[str], right: list[str]) -> None:
    pairs = [(one, other) for one, other in zip(left, right, strict=False) if one and other and one != other]
    for kernel in (edits.levenshtein, edits.jaro_winkler):
        together = kernel(*(pa.array([pair[side] for pair in pairs], pa.string()) for side in (0, 1)))
        alone = [kernel(pa.array([one]), pa.array([other]))[0] for one, other in pairs]
        assert together.tolist() == alone


@pytest.mark.parametrize(
    ("left", "right", "score"), [("MARTHA", "MARHTA", 0.9611), ("DWAYNE", "DUANE", 0.84), ("DIXON", "DICKSONX", 0.8133)]
)
def test_the_examples_of_winkler(left: str, right: str, score: float) -> None:
    assert edits.jaro_winkler(pa.array([left]), pa.array([right]))[0] == pytest.approx(score, abs=1e-4)


def test_long_texts_are_compared_by_their_beginning() -> None:
    start = "x" * edits.CHARS_MAX
    assert edits.levenshtein(pa.array([start + "a"]), pa.array([start + "bcd"]))[0] == 1.0
