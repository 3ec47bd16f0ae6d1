"""Scalar functions of queries: names and numbers of arguments, shared by parser, type checker and executors.

A new function is a member here, a row of ``RULES`` in ``query/types/rules.py`` (types, null rule, documentation),
a kernel in ``exec/functions/kernels.py`` and an expression in ``spark/query/functions.py``. Tests name the rows that
are missing, and compare both executors with a naive implementation.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class ScalarFunction(Enum):
    """Functions of values; the value is the spelling in a query, or in a plan for those that have a syntax of their
    own: ``list[0]``, ``list[1:3]``, ``date + duration(...)``, the difference of two dates, ``json.member``."""

    LOWER = "lower"
    UPPER = "upper"
    TRIM = "trim"
    LENGTH = "length"
    SUBSTRING = "substring"
    REPLACE = "replace"
    SPLIT = "split"
    CONCAT = "concat"
    REGEX_MATCH = "regex_match"
    REGEX_EXTRACT = "regex_extract"
    ABS = "abs"
    SIGN = "sign"
    ROUND = "round"
    FLOOR = "floor"
    CEIL = "ceil"
    SQRT = "sqrt"
    POW = "pow"
    LOG = "log"
    LEAST = "least"
    GREATEST = "greatest"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"
    DATE_TRUNC = "date_trunc"
    SIZE = "size"
    COALESCE = "coalesce"
    NULLIF = "nullif"
    ITEM = "item of"
    SLICE = "slice of"
    ADD_MONTHS = "add months to"
    ADD_DAYS = "add days to"
    ADD_MILLISECONDS = "add milliseconds to"
    DIFFERENCE = "difference of"
    ADD_DURATIONS = "sum of durations"
    SCALE_DURATION = "multiple of"
    ADD_TO_TIME = "add to time of day"
    JSON = "json"
    JSON_SET = "json_set"
    JSON_AT = "value in"
    JSON_SIZE = "size of"
    JSON_CONTAINS = "array holds"
    JSON_ORDER = "order of"

    @property
    def is_written(self) -> bool:
        """True if a query calls it by its name."""
        return " " not in self.value


ARGUMENTS_MAX: Final = 64
"""Arguments of functions that take any number."""

UNITS: Final = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
"""Units of ``date_trunc``, from the longest."""

ARGUMENTS: Final[dict[str, tuple[int, int]]] = {
    "lower": (1, 1),
    "upper": (1, 1),
    "trim": (1, 1),
    "length": (1, 1),
    "substring": (2, 3),
    "replace": (3, 3),
    "split": (2, 2),
    "concat": (2, ARGUMENTS_MAX),
    "starts_with": (2, 2),
    "ends_with": (2, 2),
    "contains": (2, 2),
    "regex_match": (2, 2),
    "regex_extract": (2, 2),
    "abs": (1, 1),
    "sign": (1, 1),
    "round": (1, 2),
    "floor": (1, 1),
    "ceil": (1, 1),
    "sqrt": (1, 1),
    "pow": (2, 2),
    "log": (1, 1),
    "mod": (2, 2),
    "least": (2, ARGUMENTS_MAX),
    "greatest": (2, ARGUMENTS_MAX),
    "year": (1, 1),
    "month": (1, 1),
    "day": (1, 1),
    "hour": (1, 1),
    "minute": (1, 1),
    "second": (1, 1),
    "date_trunc": (2, 2),
    "duration": (1, 2),
    "date": (1, 1),
    "datetime": (1, 1),
    "time": (1, 1),
    "uuid": (1, 1),
    "decimal": (1, 1),
    "json": (1, 1),
    "json_set": (3, 3),
    "size": (1, 1),
    "coalesce": (2, ARGUMENTS_MAX),
    "nullif": (2, 2),
    "if": (3, 3),
    "type": (1, 1),
    "id": (1, 1),
}
"""Minimum and maximum number of arguments of every function of values that a query can call."""
