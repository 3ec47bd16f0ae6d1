"""Dates, times and durations: ISO 8601 text to and from stored numbers.

A Date is stored as days and a DateTime as milliseconds since 1970-01-01 UTC, a Time as milliseconds since midnight, and
a Duration as milliseconds.

The parser accepts the same forms as the reference implementation:

* single-digit months and days, and ``YYYYMMDD``;
* ``T`` or a space before the time;
* a fraction of any length, truncated to milliseconds;
* ``Z``, an offset, or no zone, which means UTC;
* a date where a time is expected, and the reverse.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

MILLISECONDS_PER_DAY: Final = 86_400_000
_DAY = MILLISECONDS_PER_DAY
_EPOCH = date(1970, 1, 1)

DAYS_RANGE: Final = ((date.min - _EPOCH).days, (date.max - _EPOCH).days)
"""First and last day of a Date, the years 1 to 9999. A day outside has no ISO text and no Python date: it could be
stored, but not printed, compared or written again."""

MILLISECONDS_RANGE: Final = (DAYS_RANGE[0] * _DAY, DAYS_RANGE[1] * _DAY + _DAY - 1)
"""First and last millisecond of a DateTime, for the same reason."""

DURATION_RANGE: Final = (-(10**15), 10**15)
"""Shortest and longest Duration in milliseconds, about 31,700 years: microseconds of it still fit 64 bits, as on
Spark."""

CALENDAR: Final = "the years 1 to 9999"
"""Both ranges, as messages name them."""
_DATE = r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})-(?P<day>\d{1,2})|(?P<month2>\d{2})(?P<day2>\d{2}))"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?"
_ZONE = r"(?P<zone>[Zz]|[+-]\d{2}(?::?\d{2})?)"
_CLOCK_TIME = re.compile(_TIME, re.ASCII)
_ISO = re.compile(rf"{_DATE}(?:[Tt ]{_TIME}\s*{_ZONE}?)?", re.ASCII)


_PARTS = r"(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})W)?(?:(\d{1,9})D)?"
_CLOCK = r"(?:T(?:(\d{1,12})H)?(?:(\d{1,12})M)?(?:(\d{1,12})(?:[.,](\d{1,9}))?S)?)?"
_DURATION = re.compile(rf"(-?)P(?=.){_PARTS}{_CLOCK}", re.ASCII)
_SHORT_DURATION = re.compile(r"(-?\d{1,12})\s*([smhdw])", re.ASCII)
_SHORT_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": _DAY, "w": 7 * _DAY}


def parse_duration(text: str) -> tuple[int, int] | None:
    """Months and milliseconds of an ISO 8601 duration such as ``P1Y2M10DT2H30M``, or of ``7d``; None for others."""
    short = _SHORT_DURATION.fullmatch(text)
    if short is not None:
        return 0, int(short[1]) * _SHORT_UNITS[short[2]]
    match = _DURATION.fullmatch(text)
    if match is None or text.endswith("T"):
        return None
    sign = -1 if match[1] else 1
    years, months, weeks, days, hours, minutes, seconds = (int(match[part] or 0) for part in range(2, 9))
    fraction = int((match[9] or "").ljust(3, "0")[:3])
    clock = ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction
    return sign * (years * 12 + months), sign * ((weeks * 7 + days) * _DAY + clock)


def parse_datetime(text: str) -> int | None:
    """Milliseconds since the epoch, or None if the text is not an ISO date or time."""
    match = _ISO.fullmatch(text.strip())
    if match is None:
        return None
    try:
        day = date(int(match["year"]), int(match["month"] or match["month2"]), int(match["day"] or match["day2"]))
    except ValueError:
        return None
    milliseconds = (day - _EPOCH).days * _DAY
    if match["hour"] is None:
        return milliseconds
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((match["fraction"] or "").ljust(3, "0")[:3])
    offset = _offset_minutes(match["zone"])
    if offset is None:
        return None
    milliseconds += ((hour * 60 + minute - offset) * 60 + second) * 1000 + fraction
    # An offset can move a valid local time outside the years 1 to 9999.
    return milliseconds if is_moment(milliseconds) else None


def parse_date(text: str) -> int | None:
    """Days since the epoch, or None if the text is not an ISO date; a time is dropped after conversion to UTC."""
    milliseconds = parse_datetime(text)
    return None if milliseconds is None else milliseconds // _DAY


def parse_time(text: str) -> int | None:
    """Milliseconds since midnight of ``12:30``, ``12:30:15`` or ``12:30:15.5``; None for other texts."""
    match = _CLOCK_TIME.fullmatch(text.strip())
    if match is None:
        return None
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * 1000 + int((match["fraction"] or "").ljust(3, "0")[:3])


def parse_length(text: str) -> int | None:
    """Milliseconds of a duration of fixed length: an ISO 8601 duration without years and months, or ``7d``."""
    parsed = parse_duration(text.strip())
    if parsed is None or parsed[0]:
        return None
    return parsed[1] if is_length(parsed[1]) else None


def is_time(milliseconds: int) -> bool:
    """Tell if a number of milliseconds is a time of day."""
    return 0 <= milliseconds < _DAY


def is_length(milliseconds: int) -> bool:
    """Tell if a number of milliseconds is in the range of Duration."""
    return DURATION_RANGE[0] <= milliseconds <= DURATION_RANGE[1]


def is_day(days: int) -> bool:
    """Tell if a number of days is in the range of Date."""
    return DAYS_RANGE[0] <= days <= DAYS_RANGE[1]


def is_moment(milliseconds: int) -> bool:
    """Tell if a number of milliseconds is in the range of DateTime."""
    return MILLISECONDS_RANGE[0] <= milliseconds <= MILLISECONDS_RANGE[1]


def _offset_minutes(zone: str | None) -> int | None:
    if zone is None or zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        return None
    return (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)


def format_date(days: int) -> str:
    """``YYYY-MM-DD``."""
    return (_EPOCH + timedelta(days=days)).isoformat()


def format_datetime(milliseconds: int) -> str:
    """``YYYY-MM-DDTHH:MM:SS.mmmZ``."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def format_time(milliseconds: int) -> str:
    """``HH:MM:SS.mmm``."""
    seconds, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}.{rest:03}"


def format_duration(milliseconds: int) -> str:
    """ISO 8601 with days as the largest unit: ``P1DT2H30M0.5S``, ``-PT15M``, ``PT0S``."""
    days, rest = divmod(abs(milliseconds), _DAY)
    hours, rest = divmod(rest, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    seconds, fraction = divmod(rest, 1000)
    second = f"{seconds}.{fraction:03}".rstrip("0").rstrip(".") if fraction else str(seconds)
    clock = "".join(
        f"{number}{unit}" for number, unit in ((str(hours), "H"), (str(minutes), "M"), (second, "S")) if number != "0"
    )
    text = f"P{days}D" if days else "P"
    text += f"T{clock}" if clock else "" if days else "T0S"
    return f"-{text}" if milliseconds < 0 else text


def time_to_milliseconds(moment: time) -> int:
    """Milliseconds of a Python time of day, without its zone."""
    return ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1000 + moment.microsecond // 1000


def timedelta_to_milliseconds(length: timedelta) -> int:
    """Milliseconds of a Python duration, finer units cut off."""
    microseconds = length // timedelta(microseconds=1)
    return microseconds // 1000 if microseconds >= 0 else -(-microseconds // 1000)


def datetime_to_milliseconds(moment: datetime) -> int:
    """Milliseconds of a Python time; one without a zone is UTC. The result can lie outside ``MILLISECONDS_RANGE``."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def date_to_days(day: date) -> int:
    """Days of a Python date."""
    return (day - _EPOCH).days
