"""Dates and times: every accepted form, every refusal, and the way back."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.temporal import (
    date_to_days,
    datetime_to_milliseconds,
    format_date,
    format_datetime,
    parse_date,
    parse_datetime,
)

NOON = 1717156800000


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-31T12:00:00Z",
        "2024-05-31t12:00:00z",
        "2024-5-31 12:00",
        "20240531T12:00",
        "2024-05-31T12:00:00",
        "2024-05-31T12:00:00.000999Z",
        "2024-05-31T12:00:00,0Z",
        "2024-05-31T14:00:00+02:00",
        "2024-05-31T14:00:00+0200",
        "2024-05-31T14:00:00 +02",
        " 2024-05-31T07:30:00-04:30 ",
    ],
)
def test_every_form_of_a_moment_is_the_same_moment(text: str) -> None:
    assert parse_datetime(text) == NOON
    assert parse_date(text) == NOON // 86_400_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "today",
        "2024",
        "2024-05",
        "2024-13-01",
        "2024-02-30",
        "2023-02-29",
        "2024-05-31T",
        "2024-05-31T24:00:00Z",
        "2024-05-31T12:60:00Z",
        "2024-05-31T12:00:60Z",
        "2024-05-31T12:00:00+24:00",
        "2024-05-31T12:00:00+02:60",
        "10000-01-01",
        "0000-01-01",
        "\u0662\u0660\u0662\u0664-05-31",
        "9999-12-31T23:59:59-01:00",
        "0001-01-01T00:00:00+01:00",
    ],
)
def test_anything_else_is_no_moment(text: str) -> None:
    assert parse_datetime(text) is None
    assert parse_date(text) is None


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_survives_being_written(moment: datetime) -> None:
    milliseconds = datetime_to_milliseconds(moment)
    assert parse_datetime(format_datetime(milliseconds)) == milliseconds


@given(st.dates())
def test_a_day_survives_being_written(day: date) -> None:
    assert parse_date(format_date(date_to_days(day))) == date_to_days(day)


@given(st.text(max_size=40))
def test_no_text_is_too_strange(text: str) -> None:
    moment = parse_datetime(text)
    assert moment is None or format_datetime(moment)
