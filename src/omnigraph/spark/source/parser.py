"""Recursive-descent parser for the subset of Spark SQL predicates that storage can evaluate.

The subset is what Spark itself pushes down to a source: comparisons of a column with constants. ``filters`` converts
the constants to the column's type. A value may be unquoted where that is not valid Spark SQL: ``day < 2020-01-31``,
``name = Ada``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from math import isinf
from typing import NamedTuple

import pyarrow as pa

from omnigraph.core.scalars import Scalar
from omnigraph.core.suggestions import did_you_mean
from omnigraph.lang.source import Span
from omnigraph.schema.types import PropertyType
from omnigraph.spark.cluster import limits
from omnigraph.spark.source.syntax import (
    FILTER_THE_FRAME,
    And,
    Column,
    Compare,
    Constant,
    Holds,
    IsNull,
    Kind,
    Known,
    Node,
    Not,
    OneOf,
    Or,
    Problem,
    TextPosition,
)

IN_QUOTES = "put the text in single quotes; double a quote inside it"

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:[0-9]+l|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]+)?[df]?)(?![\w.]))
    | (?P<word>\w+)
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<text>'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*")
    | (?P<sign><=>|<>|!=|<=|>=|==|[=<>!(),+-])
    | (?P<end>\Z)
    | (?P<other>.)
    )""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_OPERATORS = {"=": "=", "==": "=", "<>": "!=", "!=": "!=", "<=>": "<=>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PLAIN = re.compile(r"(.*?)(?=\s+and\s+\w+\s*[=<>!]|\s*\Z)", re.DOTALL | re.IGNORECASE)
"""An unquoted value: everything up to the next comparison."""
_NOT_PLAIN = re.compile(
    r"""[-+~'"`(\[{] | .*[()<>=] | (?:x|r|date|timestamp\w*|interval)\s*['"]
    | .*\b(?:or|not|in|is|r?like|ilike|between|null|case|interval|user|session_user|current_\w+|localtimestamp)\b""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
"""Unquoted texts that Spark, or the author, may read differently: they are refused."""
_ESCAPE = {quote: re.compile(rf"\\(.)|{quote}{quote}", re.DOTALL) for quote in "'\""}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a", **{char: char for char in "\\'\""}}
_ESCAPES |= {"%": r"\%", "_": r"\_"}


class _Token(NamedTuple):
    kind: str
    text: str
    span: Span


def parse_predicate(text: str, columns: Mapping[str, PropertyType]) -> Node:
    """Parse a predicate over the columns; raises Problem."""
    parser = _Parser(text, columns)
    node = parser.disjunction()
    if parser.token.kind != "end":
        raise parser.expected("`and`, `or` or the end")
    return node


class _Parser:
    def __init__(self, text: str, columns: Mapping[str, PropertyType]) -> None:
        self._text = text
        self._columns = columns
        self._depth = self._count = 0
        self.token = self._lex(0)

    def _lex(self, start: int) -> _Token:
        found = _TOKEN.match(self._text, start)
        assert found is not None and found.lastgroup is not None, "any character is a token"
        return _Token(found.lastgroup, found.group(found.lastgroup), Span(*found.span(found.lastgroup)))

    def _advance(self) -> _Token:
        taken, self.token = self.token, self._lex(self.token.span.end)
        return taken

    def _at(self, *spellings: str) -> bool:
        return self.token.kind in ("word", "sign") and self.token.text.lower() in spellings

    def _take(self, *spellings: str) -> bool:
        return self._at(*spellings) and bool(self._advance())

    def _expect(self, spelling: str, where: str) -> None:
        if not self._take(spelling):
            raise self.expected(f"`{spelling}` {where}")

    def expected(self, what: str, hint: str | None = FILTER_THE_FRAME) -> Problem:
        found = "the end" if self.token.kind == "end" else f"`{self.token.text}`"
        if self.token.kind == "other" and self.token.text in "'\"`":
            return Problem("this quote is never closed", self.token.span, IN_QUOTES)
        return Problem(f"expected {what}, found {found}", self.token.span, hint)

    def _followed_by(self, pattern: str) -> bool:
        return re.compile(rf"\s*{pattern}").match(self._text, self.token.span.end) is not None

    def disjunction(self) -> Node:
        disjuncts = [self._conjunction()]
        while self._take("or"):
            disjuncts.append(self._conjunction())
        return disjuncts[0] if len(disjuncts) == 1 else Or(tuple(disjuncts))

    def _conjunction(self) -> Node:
        conjuncts = [self._negation()]
        while self._take("and"):
            conjuncts.append(self._negation())
        return conjuncts[0] if len(conjuncts) == 1 else And(tuple(conjuncts))

    def _negation(self) -> Node:
        if self._take("not", "!"):
            with self._nested():
                return Not(self._negation())
        if self._take("("):
            with self._nested():
                inner = self.disjunction()
            self._expect(")", "after the predicate in parentheses")
            return inner
        return self._comparison()

    @contextmanager
    def _nested(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > limits.PREDICATE_DEPTH_MAX:
            raise Problem(f"predicates are nested deeper than {limits.PREDICATE_DEPTH_MAX} levels", self.token.span)
        yield
        self._depth -= 1

    def _comparison(self) -> Node:
        self._count += 1
        if self._count > limits.PREDICATES_MAX:
            hint = "compare a column with many values by `in (...)`"
            raise Problem(f"more than {limits.PREDICATES_MAX} predicates", self.token.span, hint)
        if self._at(*(position.value for position in TextPosition)) and self._followed_by(r"\("):
            return self._function()
        if self._starts_constant():
            constant = self._constant()
            if constant.kind in (Kind.BOOLEAN, Kind.NULL) and not self._at(*_OPERATORS):
                assert not isinstance(constant.value, str | float | Decimal)
                return Known(constant.value)
            operator = self._operator()
            return Compare(self._column(), _FLIPPED.get(operator, operator), constant)
        return self._column_test(self._column())

    def _column_test(self, column: Column) -> Node:
        """A test that starts with a column."""
        is_not = self._take("not")
        found: Node
        if self._take("in"):
            found = OneOf(column, self._constants())
        elif self._take("between"):
            low = self._constant()
            self._expect("and", "between the two ends")
            found = And((Compare(column, ">=", low), Compare(column, "<=", self._constant())))
        elif self._take("like"):
            found = self._like(column)
        elif is_not:
            raise self.expected("`in`, `between` or `like`")
        elif self._take("is"):
            is_not = self._take("not")
            self._expect("null", "after `is`")
            found = IsNull(column)
        elif self._at(*_OPERATORS):
            found = Compare(column, self._operator(), self._operand(column))
        elif column.type.scalar is Scalar.BOOL and not column.type.is_list:
            found = Compare(column, "=", Constant(Kind.BOOLEAN, True, column.span))
        else:
            raise self.expected(f"a comparison of `{column.name}`")
        return Not(found) if is_not else found

    def _function(self) -> Node:
        position = TextPosition(self._advance().text.lower())
        self._expect("(", "after the function")
        column = self._column()
        self._expect(",", "after the column")
        text = self._text_constant()
        self._expect(")", "after the text")
        return Holds(column, position, text)

    def _like(self, column: Column) -> Node:
        span = self.token.span
        pattern = self._text_constant()
        text = pattern.removeprefix("%").removesuffix("%") if pattern != "%" else ""
        if any(char in text for char in "%_\\"):
            raise Problem("a pattern may have `%` only at its start and end, and no other wildcard or `\\`", span)
        if "%" not in pattern:
            return Compare(column, "=", Constant(Kind.TEXT, text, span))
        if not pattern.startswith("%"):
            return Holds(column, TextPosition.START, text)
        return Holds(column, TextPosition.ANYWHERE if pattern.endswith("%") else TextPosition.END, text)

    def _operator(self) -> str:
        if not self._at(*_OPERATORS):
            raise self.expected("a comparison")
        return _OPERATORS[self._advance().text]

    def _column(self) -> Column:
        token = self.token
        if token.kind not in ("word", "quoted"):
            raise self.expected("a column")
        self._advance()
        name = token.text[1:-1].replace("``", "`") if token.kind == "quoted" else token.text
        known = self._known(name)
        if known is None and self._at("("):
            raise Problem(f"unknown function {name!r}", token.span)
        if known is None:
            raise Problem(
                f"there is no column {name!r}", token.span, did_you_mean(name, self._columns) or FILTER_THE_FRAME
            )
        return Column(known, self._columns[known], token.span)

    def _known(self, name: str) -> str | None:
        """The column with exactly that name, or else the only one that differs in case."""
        alike = [known for known in self._columns if known.lower() == name.lower()]
        return name if name in alike else alike[0] if len(alike) == 1 else None

    def _starts_constant(self) -> bool:
        if self._at("date", "timestamp", "timestamp_ltz"):
            return self._followed_by("['\"]")
        return self.token.kind in ("number", "text") or self._at("true", "false", "null", "-", "+")

    def _constant(self) -> Constant:
        token = self.token
        if not self._starts_constant():
            raise self.expected("a constant", IN_QUOTES)
        if token.kind == "text":
            return Constant(Kind.TEXT, self._text_constant(), token.span)
        spelling = self._advance().text.lower()
        match spelling:
            case "true" | "false":
                return Constant(Kind.BOOLEAN, spelling == "true", token.span)
            case "null":
                return Constant(Kind.NULL, None, token.span)
            case "date" | "timestamp" | "timestamp_ltz":
                kind = Kind.DATE if spelling == "date" else Kind.TIMESTAMP
                span = token.span.to(self.token.span)
                return Constant(kind, self._text_constant(), span)
            case "-" | "+":
                if self.token.kind != "number":
                    raise self.expected("a number")
                return _number(spelling + self.token.text.lower(), token.span.to(self._advance().span))
            case _:
                return _number(spelling, token.span)

    def _text_constant(self) -> str:
        token = self.token
        if token.kind != "text":
            raise self.expected("a text in quotes", IN_QUOTES)
        self._advance()
        quote, body = token.text[0], token.text[1:-1]
        for escape in _ESCAPE[quote].finditer(body):
            if escape[1] and escape[1] not in _ESCAPES:
                start = token.span.start + 1 + escape.start()
                raise Problem(f"unknown escape {escape[0]!r}", Span(start, start + 2), "write a backslash twice")
        return _ESCAPE[quote].sub(lambda found: _ESCAPES[found[1]] if found[1] else quote, body)

    def _constants(self) -> tuple[Constant, ...]:
        self._expect("(", "after `in`")
        found = [self._constant()]
        while self._take(","):
            found.append(self._constant())
        self._expect(")", "after the values")
        return tuple(found)

    def _operand(self, column: Column) -> Constant:
        """The right side of a comparison: a constant or an unquoted value."""
        start = self.token
        is_day = column.type.scalar.is_temporal
        if self._starts_constant():
            constant = self._constant()
            if self.token.kind == "end" or self._at(")", "and", "or") or start.kind != "number" or not is_day:
                return constant
        found = _PLAIN.match(self._text, start.span.start)
        assert found is not None, "it may be empty"
        if start.kind in ("word", "quoted") and self._known(start.text.strip("`")) is not None:
            raise Problem("two columns cannot be compared with each other", start.span)
        followed = re.findall(r"\band\s+(\w+)", found[0], re.IGNORECASE)
        is_number = not is_day and re.match(r"[0-9.]+(?!\w)", found[0])
        if is_number or _NOT_PLAIN.match(found[0]) or any(map(self._known, followed)):
            raise self.expected("a constant", IN_QUOTES)
        span = Span(start.span.start, found.end())
        self.token = self._lex(found.end())
        return Constant(Kind.PLAIN, found[0], span)


def _number(spelling: str, span: Span) -> Constant:
    """A numeric literal: exact, unless it has an exponent or the suffix ``d`` or ``f``."""
    digits = spelling.rstrip("dlf")
    if "e" not in digits and spelling[-1] not in "df":
        value = Decimal(digits)
        if len(value.as_tuple().digits) > limits.DECIMAL_DIGITS_MAX:
            raise Problem(f"a number has at most {limits.DECIMAL_DIGITS_MAX} digits", span)
        return Constant(Kind.EXACT, value, span)
    narrow = spelling.endswith("f")
    number = float(pa.scalar(digits.lstrip("+")).cast(pa.float32()).as_py()) if narrow else float(digits)
    if isinf(number):
        raise Problem("this number is too large", span, "the largest are 'Infinity' and 'NaN'")
    return Constant(Kind.DOUBLE, number, span)
