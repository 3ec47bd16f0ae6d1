"""Kernels of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InputError
from omnigraph.exec.functions.rowwise import each, each_different, flat, packed

BLANKS: Final = " \t\n\r\f\v"
"""The characters that ``trim`` removes."""

Values = Sequence[Any]


def lower(arguments: Values, type_: pa.DataType) -> Any:
    """Full case mapping of Unicode; Arrow's own maps single characters only (``ß`` has no upper case there)."""
    (text,) = arguments
    return pc.ascii_lower(text) if _is_ascii(text) else each_different(str.lower, text, type_)


def upper(arguments: Values, type_: pa.DataType) -> Any:
    """The same in upper case."""
    (text,) = arguments
    return pc.ascii_upper(text) if _is_ascii(text) else each_different(str.upper, text, type_)


def _is_ascii(text: Any) -> bool:
    return bool(pc.all(pc.string_is_ascii(flat(text)), min_count=0).as_py())


def trim(arguments: Values, _type: pa.DataType) -> Any:
    """Without blanks at both ends."""
    return pc.utf8_trim(arguments[0], characters=BLANKS)


def length(arguments: Values, type_: pa.DataType) -> Any:
    """The number of characters."""
    return pc.cast(pc.utf8_length(arguments[0]), type_)


def substring(arguments: Values, type_: pa.DataType) -> Any:
    """The characters from a start, all of them or a number."""
    text, *bounds = arguments
    if all(isinstance(bound, pa.Scalar) and bound.is_valid and bound.as_py() >= 0 for bound in bounds):
        start, *count = (min(bound.as_py(), 2**31 - 1) for bound in bounds)
        # The end is bounded by the width of Arrow's text offsets.
        return pc.utf8_slice_codeunits(text, start=start, stop=start + count[0] if count else None)
    return each(_substring, arguments, type_)


def _substring(text: str, start: int, count: int | None = None) -> str:
    first = max(len(text) + start, 0) if start < 0 else start
    return text[first:] if count is None else text[first : first + max(count, 0)]


def replace(arguments: Values, type_: pa.DataType) -> Any:
    """Every occurrence replaced."""
    text, part, other = arguments
    if isinstance(part, pa.Scalar) and isinstance(other, pa.Scalar) and part.as_py() and other.is_valid:
        return pc.replace_substring(text, pattern=part.as_py(), replacement=other.as_py())
    return each(lambda whole, old, new: whole.replace(old, new) if old else whole, arguments, type_)


def split(arguments: Values, type_: pa.DataType) -> Any:
    """The parts between the occurrences of a separator."""
    text, separator = arguments
    if isinstance(separator, pa.Scalar) and separator.as_py():
        return pc.split_pattern(text, pattern=separator.as_py())
    return each(lambda whole, mark: whole.split(mark) if mark else [whole], arguments, type_)


def concat(arguments: Values, _type: pa.DataType) -> Any:
    """The texts one after the other; null if one is null."""
    return pc.binary_join_element_wise(*arguments, "", null_handling="emit_null")


def regex_match(arguments: Values, type_: pa.DataType) -> Any:
    """True if RE2 finds the pattern."""
    text, pattern = arguments
    if not pattern.is_valid:
        return pa.scalar(None, type_)
    try:
        return pc.match_substring_regex(text, pattern=pattern.as_py())
    except pa.ArrowInvalid as error:
        raise _refused(pattern.as_py(), error) from error


def regex_extract(arguments: Values, type_: pa.DataType) -> Any:
    """The first match, or its first group."""
    text, pattern = arguments
    if not pattern.is_valid:
        return pa.scalar(None, type_)
    named, groups = _named_groups(pattern.as_py())
    try:
        found = pc.extract_regex(flat(text), pattern=f"(?P<g0>{named})")
    except pa.ArrowInvalid as error:
        raise _refused(pattern.as_py(), error) from error
    # A struct's own nulls are those of texts without a match; they are not in its fields.
    matched = pc.if_else(pc.is_valid(found), found.field(1 if groups else 0), pa.scalar(None, type_))
    return packed(matched, arguments)


def _refused(pattern: str, error: Exception) -> InputError:
    return InputError(f"the pattern {pattern[:100]!r} is invalid: {error}", pattern=pattern)


_GROUP: Final = re.compile(r"\\.|\[\^?\]?(?:\[:\^?[a-z]+:\]|\\.|[^\]])*\]|\((?!\?)|\(\?P?<[^>]*>", re.DOTALL)
"""An escaped character, a class of characters, or the start of a group that is captured."""


def _named_groups(pattern: str) -> tuple[str, int]:
    """The pattern with a name for every captured group, which Arrow demands, and their number."""
    names = count(1)

    def named(match: re.Match[str]) -> str:
        return f"(?P<g{next(names)}>" if match[0].startswith("(") else match[0]

    return _GROUP.sub(named, pattern), next(names) - 1
