"""Values of other libraries become those of Python, and everything else stays what it is."""

import array
import enum
from datetime import date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from omnigraph.core.python_values import plain_value, plain_values


class Role(enum.Enum):
    DEV = "dev"


class Level(enum.IntEnum):
    LOW = 1


PLAIN: list[tuple[object, object]] = [
    (np.int64(3), 3),
    (np.float32(0.5), 0.5),
    (np.float64(0.5), 0.5),
    (np.bool_(True), True),
    (np.str_("a"), "a"),
    (np.datetime64("2020-01-31"), date(2020, 1, 31)),
    (np.datetime64("2020-01-31T10:00:00", "ns"), datetime(2020, 1, 31, 10)),
    (np.timedelta64(3_000, "ns"), timedelta(microseconds=3)),
    (pa.scalar(3), 3),
    (pa.scalar([1.0, 2.0]), [1.0, 2.0]),
    (pd.NA, None),
    (pd.NaT, None),
    (Role.DEV, "dev"),
    (Level.LOW, 1),
    (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (np.array([1.0, 2.0], dtype="float32"), [1.0, 2.0]),
    (np.array([[1], [2]]), [[1], [2]]),
    (np.array(["2020-01-31"], dtype="datetime64[ns]"), [datetime(2020, 1, 31)]),
    (pd.Series([1, 2]), [1, 2]),
    (pl.Series([1.0, 2.0]), [1.0, 2.0]),
    (pa.array(["a", None]), ["a", None]),
    (array.array("d", [1.0]), [1.0]),
    ([Role.DEV, np.int32(1)], ["dev", 1]),
    ((UUID(int=1),), [str(UUID(int=1))]),
]


@pytest.mark.parametrize(
    ("value", "plain"), PLAIN, ids=[f"{place}-{type(value).__name__}" for place, (value, _) in enumerate(PLAIN)]
)
def test_a_value_of_a_library_becomes_one_of_python(value: object, plain: object) -> None:
    found = plain_value(value)
    assert found == plain
    assert type(found) is type(plain)


@pytest.mark.parametrize(
    "value", [None, "a", 1, 0.5, True, b"x", [1, "a"], ("a",), {"a": 1}, {1}, object(), Role, int, Decimal("1.5")]
)
def test_any_other_value_stays_itself(value: object) -> None:
    assert plain_value(value) is value


def test_a_value_that_its_library_cannot_convert_stays_itself() -> None:
    late = pa.scalar(2**62, pa.timestamp("s"))
    assert plain_value(late) is late


def test_a_record_of_plain_values_is_not_copied() -> None:
    record = {"a": 1, "b": None}
    assert plain_values(record) is record
    assert plain_values({"a": np.int64(1)}) == {"a": 1}
