"""The table of kernels: one per scalar function.

A kernel gets the values of the arguments, in the types that the type checker converted them to, and the Arrow type of
the result. Values are arrays, or scalars that apply to every row; of scalars alone it gives a scalar. Null rules are
those of ``query/types/rules.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.operators import BinaryOperator
from omnigraph.exec.functions import json_kernels, lengths, lists, moments, numbers, texts
from omnigraph.exec.numbers import compare

F = ScalarFunction
Kernel = Callable[[Sequence[Any], pa.DataType], Any]


def _coalesce(arguments: Sequence[Any], _type: pa.DataType) -> Any:
    return pc.coalesce(*arguments)


def _nullif(arguments: Sequence[Any], type_: pa.DataType) -> Any:
    value, other = arguments
    equal = pc.fill_null(compare(BinaryOperator.EQ, value, other), False)
    return pc.if_else(equal, pa.scalar(None, type_), value)


KERNELS: Mapping[ScalarFunction, Kernel] = {
    F.LOWER: texts.lower,
    F.UPPER: texts.upper,
    F.TRIM: texts.trim,
    F.LENGTH: texts.length,
    F.SUBSTRING: texts.substring,
    F.REPLACE: texts.replace,
    F.SPLIT: texts.split,
    F.CONCAT: texts.concat,
    F.REGEX_MATCH: texts.regex_match,
    F.REGEX_EXTRACT: texts.regex_extract,
    F.ABS: numbers.absolute,
    F.SIGN: numbers.sign,
    F.ROUND: numbers.rounded,
    F.FLOOR: numbers.floor,
    F.CEIL: numbers.ceiling,
    F.SQRT: numbers.root,
    F.POW: numbers.power,
    F.LOG: numbers.logarithm,
    F.LEAST: numbers.least,
    F.GREATEST: numbers.greatest,
    F.YEAR: moments.year,
    F.MONTH: moments.month,
    F.DAY: moments.day,
    F.HOUR: moments.hour,
    F.MINUTE: moments.minute,
    F.SECOND: moments.second,
    F.DATE_TRUNC: moments.truncated,
    F.ADD_MONTHS: moments.months_later,
    F.ADD_DAYS: moments.later,
    F.ADD_MILLISECONDS: moments.later,
    F.DIFFERENCE: moments.difference,
    F.ADD_DURATIONS: lengths.added,
    F.SCALE_DURATION: lengths.scaled,
    F.ADD_TO_TIME: lengths.time_later,
    F.SIZE: lists.size,
    F.ITEM: lists.item,
    F.SLICE: lists.part,
    F.COALESCE: _coalesce,
    F.NULLIF: _nullif,
    F.JSON: json_kernels.parsed,
    F.JSON_AT: json_kernels.at,
    F.JSON_SIZE: json_kernels.size,
    F.JSON_CONTAINS: json_kernels.contains,
    F.JSON_ORDER: json_kernels.order,
    F.JSON_SET: json_kernels.with_part,
}
"""One row per function."""
