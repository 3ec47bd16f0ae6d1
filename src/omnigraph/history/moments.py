"""Moments in the notation of git: ``main~2``, ``HEAD``, ``main@{yesterday}``, ``01JD3F``, or a time.

    moment   = (name | "HEAD" | "@" | time) step*
             | (branch | "HEAD" | "@" | nothing) "@{" time "}" step*
    step     = "~" [count] | "^" [number]        ancestor by first parents; n-th parent
    time     = ISO 8601 text | "now" | "today" | "yesterday" | count unit "ago" | "last" unit

The parser is pure: what a name means (a branch, a time, a commit, the prefix of one) is decided where branches and
commits can be read. The characters of steps and times are not allowed in names of branches, so no name is hidden.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import assert_never

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.limits import MOMENT_CHARS_MAX, MOMENT_STEPS_MAX
from omnigraph.core.temporal import datetime_to_milliseconds, parse_datetime
from omnigraph.errors import UsageError

RANGE = ".."
PREFIX_CHARS_MIN = 4
"""Characters of a commit id that name it, if no other commit begins with them."""

_HEADS = ("HEAD", "@")
_STEPS = re.compile(r"(?:[~^]\d*)+$")
_STEP = re.compile(r"([~^])(\d*)")
_ON_BRANCH = re.compile(r"(?P<branch>.*?)@\{(?P<time>.*)\}")
_AGO = re.compile(r"(?P<count>\d+|an?|one)[ .]*(?P<unit>[a-z]+?)s?[ .]+ago|last[ .]+(?P<last>[a-z]+)")
_UNITS = {
    "second": timedelta(seconds=1), "sec": timedelta(seconds=1), "s": timedelta(seconds=1),
    "minute": timedelta(minutes=1), "min": timedelta(minutes=1), "m": timedelta(minutes=1),
    "hour": timedelta(hours=1), "h": timedelta(hours=1),
    "day": timedelta(days=1), "d": timedelta(days=1),
    "week": timedelta(weeks=1), "w": timedelta(weeks=1),
}  # fmt: skip
_MONTHS = {"month": 1, "year": 12}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORMS = (
    "write a branch, a commit or its first 4 characters, HEAD, main~2, main@{yesterday}, main@{2 hours ago}, "
    "or a time such as 2026-01-31T12:00:00Z"
)


@dataclass(frozen=True, slots=True)
class Named:
    """A branch, or else the time that the text also is, or else a commit or the prefix of one."""

    name: str
    time_us: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The newest commit of the branch in context. Without one, a branch of the name ``said`` comes first."""

    said: str = "@"


@dataclass(frozen=True, slots=True)
class OnBranch:
    """The newest commit of a branch (or of the one in context) that is not younger than a time."""

    branch: str | None
    time_us: int
    said: str


@dataclass(frozen=True, slots=True)
class Ancestor:
    """The commit some generations of first parents before another moment."""

    of: MomentTree
    generations: int


@dataclass(frozen=True, slots=True)
class Parent:
    """One of the parents of a commit, counted from 1; a merge has two."""

    of: MomentTree
    number: int


MomentTree = Named | Head | OnBranch | Ancestor | Parent


def names_its_branch(tree: MomentTree) -> bool:
    """True if the moment is complete without a branch in context: it names one, or a commit."""
    match tree:
        case Named(_, time_us):
            return time_us is None
        case OnBranch(branch):
            return branch is not None
        case Head():
            return False
        case Ancestor(of) | Parent(of):
            return names_its_branch(of)
        case _:
            assert_never(tree)


def parse_moment(text: str, now_us: int) -> MomentTree:
    """The tree of a moment. Raises UsageError for a text that no branch, commit or time can have."""
    if len(text) > MOMENT_CHARS_MAX:
        raise UsageError(f"{text[:40] + '...'!r} is no moment: it has {len(text):,} characters", hint=_FORMS)
    said = text.strip()
    found = _STEPS.search(said)
    tree = _parse_base(said[: found.start()] if found else said, text, now_us)
    steps = _STEP.findall(found[0]) if found else []
    if len(steps) > MOMENT_STEPS_MAX:
        raise UsageError(
            f"a moment has at most {MOMENT_STEPS_MAX} steps, and this one has {len(steps)}",
            hint="main~100 is one step",
        )
    for kind, count in steps:
        number = int(count) if count else 1
        tree = Ancestor(tree, number) if kind == "~" else _parent(tree, number)
    return tree


def _parent(of: MomentTree, number: int) -> MomentTree:
    """``^0`` is the commit itself, as in git."""
    return Parent(of, number) if number else of


def _parse_base(base: str, text: str, now_us: int) -> MomentTree:
    if base in _HEADS:
        return Head(base)
    time_us = parse_time(base, now_us)
    if (found := _ON_BRANCH.fullmatch(base)) is not None:
        branch = found["branch"]
        time_us = parse_time(found["time"], now_us)
        if time_us is None:
            count = found["time"]
            hint = f"{branch or 'HEAD'}~{count} goes back {count} commits" if count.isdigit() else TIMES
            raise UsageError(f"{found['time']!r} of {text!r} is no time", hint=hint, moment=text)
        return OnBranch(None if branch in ("", *_HEADS) else branch, time_us, text)
    if not base or any(char in base for char in "~^@{}"):
        raise UsageError(f"{text!r} is no moment", hint=_FORMS, moment=text)
    if RANGE in base:
        raise UsageError(
            f"{text!r} is a range of moments, and one moment is expected",
            hint="diff and revert take ranges",
            moment=text,
        )
    return Named(base, time_us)


TIMES = "write a time like 2026-01-31T12:00:00Z (UTC without a zone), yesterday, or 2 hours ago"


def parse_time(text: str, now_us: int) -> int | None:
    """Microseconds of a time, or None for any other text. A time without a zone is UTC.

    A written time means the end of its millisecond, so that the times that listings show find their commits.
    """
    if len(text) > MOMENT_CHARS_MAX:
        return None
    written = parse_datetime(text)
    if written is not None:
        return written * 1000 + 999
    phrase = " ".join(text.lower().split())
    now = _EPOCH + timedelta(microseconds=now_us)
    try:
        return _microseconds(_spoken(phrase, now))
    except OverflowError:
        return None


def _spoken(phrase: str, now: datetime) -> datetime | None:
    if phrase == "now":
        return now
    if phrase == "today":
        return now.replace(hour=0, minute=0, second=0, microsecond=0)
    if phrase == "yesterday":
        return now - timedelta(days=1)
    if (found := _AGO.fullmatch(phrase)) is None:
        return None
    unit = found["unit"] or found["last"]
    count = int(found["count"]) if (found["count"] or "").isdigit() else 1
    if unit in _MONTHS:
        return _months_before(now, count * _MONTHS[unit])
    return now - count * _UNITS[unit] if unit in _UNITS else None


def _months_before(moment: datetime, months: int) -> datetime | None:
    """The same day of an earlier month, or its last day: one month before March 31 is the end of February."""
    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    if year < 1:
        return None
    start_of_next = datetime(year + (month == 11), (month + 1) % 12 + 1, 1, tzinfo=UTC)
    last_day = (start_of_next - timedelta(days=1)).day
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last_day))


def _microseconds(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // timedelta(microseconds=1)


def time_us(given: str | datetime, now_us: int) -> int:
    """Microseconds of a time that may be nothing else, such as the end of a period. Raises UsageError."""
    found = exact_us(given) if isinstance(given, datetime) else parse_time(given, now_us)
    if found is None:
        raise UsageError(f"{given!r} is no time", hint=TIMES, time=given)
    return found


def exact_us(moment: datetime) -> int:
    """Microseconds of a Python time; one without a zone is UTC."""
    return datetime_to_milliseconds(moment) * 1000 + moment.microsecond % 1000


def split_range(text: str) -> tuple[str, str] | None:
    """The two ends of ``OLDER..NEWER``, either of them possibly empty; None for a text that is no range."""
    if RANGE not in text:
        return None
    older, _, newer = text.partition(RANGE)
    return older.strip(), newer.strip()
