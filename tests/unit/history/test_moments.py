"""Moments as texts: the tree of each form, and times that phrases mean."""

from datetime import UTC, datetime

import pytest

from omnigraph.errors import UsageError
from omnigraph.history.moments import (
    Ancestor,
    Head,
    MomentTree,
    Named,
    OnBranch,
    Parent,
    names_its_branch,
    parse_moment,
    parse_time,
    split_range,
)

NOW = datetime(2026, 3, 31, 15, 30, 20, 5, tzinfo=UTC)
NOW_US = int(NOW.timestamp()) * 1_000_000 + 5
YEAR_BEGIN = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000 + 999


def _us(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 1_000_000 + 5  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("HEAD", Head("HEAD")),
        ("@", Head()),
        (" main ", Named("main")),
        ("HEADER", Named("HEADER")),
        ("01JD3F", Named("01JD3F")),
        ("2026-01-01", Named("2026-01-01", YEAR_BEGIN)),
        ("main~", Ancestor(Named("main"), 1)),
        ("main~2", Ancestor(Named("main"), 2)),
        ("HEAD~0", Ancestor(Head("HEAD"), 0)),
        ("HEAD^", Parent(Head("HEAD"), 1)),
        ("HEAD^0", Head("HEAD")),
        ("review/x~2^2", Parent(Ancestor(Named("review/x"), 2), 2)),
        ("main@{2026-01-01}", OnBranch("main", YEAR_BEGIN, "main@{2026-01-01}")),
        ("@{2026-01-01}~3", Ancestor(OnBranch(None, YEAR_BEGIN, "@{2026-01-01}~3"), 3)),
        ("HEAD@{now}", OnBranch(None, NOW_US, "HEAD@{now}")),
    ],
)
def test_every_form_has_one_tree(text: str, tree: MomentTree) -> None:
    assert parse_moment(text, NOW_US) == tree


@pytest.mark.parametrize("text", ["", " ", "~2", "main~x", "a~1b", "main@{1}", "main@{soon}", "main@{", "a@b", "a..b"])
def test_a_text_that_is_no_moment_is_refused_with_a_form_that_is_one(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_moment(text, NOW_US)
    assert refused.value.hint
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    "text", ["main~" + "9" * 5_000, "9" * 5_000 + " days ago", "main" + "^" * 3_000, "main" + "~1" * 100, "~" * 10**6]
)
def test_a_text_that_is_too_long_for_a_moment_is_refused_at_once(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_moment(text, NOW_US)
    assert refused.value.hint
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW_US),
        ("today", _us(2026, 3, 31) - 5),
        ("Yesterday", _us(2026, 3, 30, 15, 30, 20)),
        ("2 hours ago", _us(2026, 3, 31, 13, 30, 20)),
        ("2.hours.ago", _us(2026, 3, 31, 13, 30, 20)),
        ("2h ago", _us(2026, 3, 31, 13, 30, 20)),
        ("an hour ago", _us(2026, 3, 31, 14, 30, 20)),
        ("90 minutes ago", _us(2026, 3, 31, 14, 0, 20)),
        ("1 second ago", _us(2026, 3, 31, 15, 30, 19)),
        ("last week", _us(2026, 3, 24, 15, 30, 20)),
        ("one month ago", _us(2026, 2, 28, 15, 30, 20)),
        ("4 months ago", _us(2025, 11, 30, 15, 30, 20)),
        ("2 years ago", _us(2024, 3, 31, 15, 30, 20)),
        ("2026-01-01", YEAR_BEGIN),
        ("2026-01-01T02:00:00+02:00", YEAR_BEGIN),
        ("9999999 years ago", None),
        ("99999999999999999999 days ago", None),
        ("9" * 5_000 + " days ago", None),
        ("2 fortnights ago", None),
        ("main", None),
        ("", None),
    ],
)
def test_a_phrase_means_a_time_counted_from_the_clock_in_utc(text: str, expected: int | None) -> None:
    assert parse_time(text, NOW_US) == expected


@pytest.mark.parametrize(
    ("text", "is_complete"),
    [("main", True), ("01JD~2", True), ("main@{now}^", True), ("HEAD~2", False), ("@{now}", False), ("now", False)],
)
def test_only_heads_and_times_need_a_branch_in_context(text: str, is_complete: bool) -> None:
    assert names_its_branch(parse_moment(text, NOW_US)) is is_complete


def test_a_range_has_two_ends_that_may_be_empty() -> None:
    assert split_range("main~2 .. HEAD") == ("main~2", "HEAD")
    assert split_range("..HEAD") == ("", "HEAD")
    assert split_range("main") is None
