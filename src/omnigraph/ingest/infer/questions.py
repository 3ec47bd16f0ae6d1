"""Questions about one column for the first pass, as SQL, and the facts in their answers.

A text column has many: one for each form that its values may be written in. A form that a value of the first rows does
not have cannot be that of all values, so it is not counted in the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Final

import pyarrow as pa

from omnigraph.core.scalars import Scalar
from omnigraph.ingest.infer.facts import ColumnFacts, TextForms
from omnigraph.schema.types import PropertyType

_INTEGER: Final = "0|-?[1-9][0-9]*"
_DECIMAL: Final = r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DATE: Final = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_ZONE: Final = "[Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?"
_TIME: Final = rf"{_DATE}[Tt ]([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?\s*({_ZONE})?"
_DIGITS_MAX: Final = 20
"""Digits of an integer that is read as a number at all."""


class Group(Enum):
    """Forms that are counted together."""

    NUMBERS = auto()
    BOOLEANS = auto()
    TIMES = auto()
    LISTS = auto()


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions about one column, in order."""

    index: int
    type: PropertyType
    kind: pa.DataType
    groups: frozenset[Group] = frozenset(Group)

    def select(self) -> str:
        """The expressions to select from ``given``."""
        return ", ".join(expression.format(c=f"c{self.index}") for expression in self._expressions())

    def facts(self, answers: Iterator[Any]) -> ColumnFacts:
        """The facts in the next answers."""
        given = [next(answers) for _ in self._expressions()]
        present, distinct = given[:2]
        facts = ColumnFacts("", 0, self.type, present=present, distinct=distinct)
        if self._is_text:
            *forms, low, high, shortest, longest = given[2:]
            lengths = None if shortest is None else (shortest, longest)
            return replace(facts, forms=TextForms(*forms), low=low, high=high, lengths=lengths)
        if self.type.is_list:
            shortest, longest, has_nulls = given[2:]
            lengths = None if shortest is None else (shortest, longest)
            if has_nulls:
                return replace(facts, declared=None, held="lists with nulls in them")
            return replace(facts, lengths=lengths)
        return facts

    def only_possible(self, seen: ColumnFacts, *, is_json: bool) -> Questions:
        """The questions that are left after some rows were seen. Objects of JSON count wherever they are."""
        forms, present = seen.forms, seen.present
        if not self._is_text or not present:
            return self
        held = {
            Group.NUMBERS: present in (forms.integers, forms.decimals),
            Group.BOOLEANS: present == forms.booleans,
            Group.TIMES: present == forms.dates + forms.times,
            Group.LISTS: is_json or present in (forms.integer_lists, forms.decimal_lists, forms.text_lists),
        }
        return replace(self, groups=frozenset(group for group, is_held in held.items() if is_held))

    @property
    def _is_text(self) -> bool:
        return not self.type.is_list and pa.types.is_string(self.kind)

    def _expressions(self) -> Sequence[str]:
        if self._is_text:
            forms = (expression if group in self.groups else nothing for group, expression, nothing in _TEXT_QUESTIONS)
            return (*_QUESTIONS, *forms)
        if self.type.is_list:
            return _LIST_QUESTIONS
        if self.type.scalar in (Scalar.BLOB, Scalar.VECTOR):
            return ("count({c})", "0")
        return _QUESTIONS


_QUESTIONS: Final = ("count({c})", "approx_count_distinct({c})")
_LIST_QUESTIONS: Final = ("count({c})", "0", "min(len({c}))", "max(len({c}))", "bool_or(list_count({c}) < len({c}))")


def _matches(pattern: str) -> str:
    # Braces of a pattern are not those of a placeholder.
    return "regexp_full_match(trim({c}), '" + pattern.replace("{", "{{").replace("}", "}}") + "')"


def _count(condition: str) -> str:
    return f"count(*) FILTER ({condition})"


_IS_INTEGER: Final = f"{_matches(_INTEGER)} AND TRY_CAST(trim({{c}}) AS HUGEINT) IS NOT NULL"
_IS_DECIMAL: Final = (
    f"{_matches(_DECIMAL)} AND isfinite(TRY_CAST(trim({{c}}) AS DOUBLE))"
    f" AND NOT ({_matches(_INTEGER)} AND length({{c}}) > {_DIGITS_MAX})"
)
_IS_DAY: Final = (
    "TRY_CAST(regexp_extract({c}, '^ *([0-9]+-[0-9]+-[0-9]+)', 1) AS DATE) IS NOT NULL AND trim({c}) NOT LIKE '0000%'"
)
_STRUCTURE: Final = (
    # A null in a list has no text, and no property can hold it.
    "CASE WHEN {c} LIKE '[%' AND json_valid({c})"
    " AND json_array_length({c}) = list_count(json_extract_string({c}, '$[*]')) THEN json_structure({c})::VARCHAR END"
)
_LISTS: Final = """'["UBIGINT"]', '["BIGINT"]', '["DOUBLE"]', '["VARCHAR"]', '["NULL"]'"""
_LENGTH: Final = "CASE WHEN {c} LIKE '[%' AND json_valid({c}) THEN json_array_length({c}) END"

_TEXT_QUESTIONS: Final = (
    (Group.NUMBERS, _count(_IS_INTEGER), "0"),
    (Group.NUMBERS, _count(_IS_DECIMAL), "0"),
    (Group.BOOLEANS, _count("lower(trim({c})) IN ('true', 'false')"), "0"),
    (Group.TIMES, _count(f"{_matches(_DATE)} AND {_IS_DAY}"), "0"),
    # Offsets move the first and the last day out of the calendar.
    (Group.TIMES, _count(f"{_matches(_TIME)} AND {_IS_DAY} AND left(trim({{c}}), 4) NOT IN ('0001', '9999')"), "0"),
    (Group.LISTS, _count(f"""({_STRUCTURE}) IN ('["UBIGINT"]', '["BIGINT"]', '["NULL"]')"""), "0"),
    (Group.LISTS, _count(f"""({_STRUCTURE}) IN ('["UBIGINT"]', '["BIGINT"]', '["DOUBLE"]', '["NULL"]')"""), "0"),
    (Group.LISTS, _count(f"""({_STRUCTURE}) IN ('["VARCHAR"]', '["NULL"]')"""), "0"),
    (Group.LISTS, _count(f"""({_STRUCTURE}) NOT IN ({_LISTS}) OR ({{c}} LIKE '{{{{%' AND json_valid({{c}}))"""), "0"),
    (Group.NUMBERS, f"min(TRY_CAST(trim({{c}}) AS HUGEINT)) FILTER ({_IS_INTEGER})", "NULL"),
    (Group.NUMBERS, f"max(TRY_CAST(trim({{c}}) AS HUGEINT)) FILTER ({_IS_INTEGER})", "NULL"),
    (Group.LISTS, f"min({_LENGTH})", "NULL"),
    (Group.LISTS, f"max({_LENGTH})", "NULL"),
)
"""In the order of ``TextForms``, then the range of the integers and the lengths of the lists; with the answer of a
question that is left out."""
