"""Token cursor shared by the two recursive-descent parsers.

Parsers test (`at`), consume (`expect`) and fail by raising ``SyntaxProblem``, which never leaves this package: the
parser's recovery points catch it, record the diagnostic and skip to the next token where parsing can resume.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isinf

from omnigraph.core.decimals import DIGITS_MAX
from omnigraph.core.limits import (
    EXPRESSION_OPERATORS_MAX,
    NESTING_MAX,
    SOURCE_CHARS_MAX,
    VECTOR_DIMENSION_MAX,
)
from omnigraph.core.scalars import SCALARS_BY_NAME
from omnigraph.core.suggestions import did_you_mean
from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.lang.lexer import Kind, Lexed, Token, lex
from omnigraph.lang.source import Source, Span
from omnigraph.lang.syntax import Name, TypeRef

SYNTAX = "P001"
"""The code of all syntax errors."""


_CLOSERS = (")", "]", "}")
_BRACES = {"{": 1, "}": -1}
_BRACKETS = {"(": 1, "[": 1, ")": -1, "]": -1}


class SyntaxProblem(Exception):
    """Raised inside a parser, caught at its next recovery point."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint


class Cursor:
    """Position in the tokens of one source, with the diagnostics found so far."""

    def __init__(self, source: Source) -> None:
        self.diagnostics = Diagnostics(source)
        if len(source.text) > SOURCE_CHARS_MAX:
            message = f"the text has {len(source.text)} characters; the limit is {SOURCE_CHARS_MAX}"
            self.diagnostics.error(SYNTAX, message, Span(0, 1))
            source = Source("", source.name)
        self.lexed: Lexed = lex(source)
        self._tokens = self.lexed.tokens
        self._index = 0
        self._depth = 0
        self._operators = 0
        self._reported = -1
        # An unclosed string or comment consumed the rest of the text; further errors at the end are consequences.
        last = self.peek(len(self._tokens) - 2)
        self._is_cut_off = last.kind is Kind.ERROR and source.text[last.span.start] in '"/'
        self.token = self._tokens[0]

    def peek(self, ahead: int = 1) -> Token:
        """A token ahead; the END token repeats."""
        return self._tokens[max(0, min(self._index + ahead, len(self._tokens) - 1))]

    @property
    def at_end(self) -> bool:
        return self.token.kind is Kind.END

    def at(self, text: str) -> bool:
        """True if the current token is this word or punctuation."""
        return self.token.text == text and self.token.kind in (Kind.WORD, Kind.PUNCTUATION)

    @property
    def starts_line(self) -> bool:
        """True if the current token is the first on its line."""
        return "\n" in self.lexed.source.text[self.previous_span.end : self.token.span.start]

    @property
    def is_adjacent(self) -> bool:
        """True if nothing separates the current token from the one before it."""
        return self.previous_span.end == self.token.span.start

    @property
    def previous_span(self) -> Span:
        return self._tokens[max(0, self._index - 1)].span

    @property
    def index(self) -> int:
        """The number of consumed tokens."""
        return self._index

    def since(self, start: Span) -> Span:
        """The span from ``start`` to the last consumed token."""
        return start.to(self.previous_span)

    def advance(self) -> Token:
        taken = self.token
        if taken.kind is not Kind.END:
            self._index += 1
            self.token = self._tokens[self._index]
        return taken

    def take(self, text: str) -> bool:
        """Consume the current token if it is this word or punctuation."""
        if self.at(text):
            self.advance()
            return True
        return False

    def expect(self, text: str, context: str, hint: str | None = None) -> Token:
        if self.at(text):
            return self.advance()
        raise self.problem(f"expected `{text}` {context}", self.case_hint(text) or hint)

    def case_hint(self, *keywords: str) -> str | None:
        """A hint for one of these keywords written in upper case."""
        written = self.token.text.lower()
        return f"keywords are written in lower case: `{written}`" if written in keywords else None

    def expect_kind(self, kind: Kind, wanted: str) -> Token:
        if self.token.kind is kind:
            return self.advance()
        raise self.problem(f"expected {wanted}")

    def name(self, wanted: str) -> Name:
        """A lower-case name."""
        hint = "such a name starts with a lower-case letter or `_`" if self.token.kind is Kind.TYPE_NAME else None
        if self.token.kind is not Kind.WORD:
            raise self.problem(f"expected {wanted}", hint)
        token = self.advance()
        return Name(token.text, token.span)

    def type_name(self, wanted: str) -> Name:
        """An upper-case name."""
        hint = "a type name starts with an upper-case letter" if self.token.kind is Kind.WORD else None
        if self.token.kind is not Kind.TYPE_NAME:
            raise self.problem(f"expected {wanted}", hint)
        token = self.advance()
        return Name(token.text, token.span)

    def integer(self, wanted: str, maximum: int) -> int:
        token = self.expect_kind(Kind.INTEGER, wanted)
        # Python refuses to convert very long digit strings; no limit of the languages has more than 20 digits.
        digits = token.text.lstrip("0") or "0"
        if len(digits) > 20 or int(digits) > maximum:
            raise SyntaxProblem(f"{wanted} must be at most {maximum}", token.span)
        return int(digits)

    def float_number(self) -> float:
        token = self.advance()
        value = float(token.text)
        if isinf(value):
            raise SyntaxProblem("this number is larger than the largest F64", token.span)
        return value

    def joined_word(self, wanted: str) -> Name:
        """An enum value: adjacent words, digits and hyphens, such as ``2nd-class``."""
        parts: list[Token] = []
        while self._continues_word(parts):
            parts.append(self.advance())
        if not parts:
            raise self.problem(f"expected {wanted}")
        return Name("".join(part.text for part in parts), parts[0].span.to(parts[-1].span))

    def _continues_word(self, parts: list[Token]) -> bool:
        joins = self.token.kind in (Kind.WORD, Kind.TYPE_NAME, Kind.INTEGER) or self.at("-")
        return joins and (not parts or parts[-1].span.end == self.token.span.start)

    def problem(self, message: str, hint: str | None = None) -> SyntaxProblem:
        """A problem at the current token; an ERROR token brings its own message."""
        if self.token.kind is Kind.ERROR:
            return SyntaxProblem(self.token.text, self.token.span)
        if hint is None and self.at("|"):
            hint = "`|` stands between the types of an edge's end in a schema; the operator is `or`"
        if hint is None and self.token.text in _CLOSERS and self.peek(-1).text == ",":
            hint = f"remove the comma before `{self.token.text}`"
        return SyntaxProblem(f"{message}, found {describe(self.token)}", self.token.span, hint)

    def report(self, problem: SyntaxProblem) -> None:
        """Record a problem; of several at one position only the first, because the others are consequences."""
        is_cut_off = self._is_cut_off and self._reported >= 0 and problem.span.start == self._tokens[-1].span.start
        if problem.span.start != self._reported and not is_cut_off:
            self.diagnostics.error(SYNTAX, problem.message, problem.span, problem.hint)
        self._reported = problem.span.start

    def suggest(self, wrong: str, names: Iterable[str]) -> str | None:
        """``did_you_mean`` until diagnostics are full: a long invalid text must not cost a comparison per word."""
        return None if self.diagnostics.is_full else did_you_mean(wrong, names)

    def skip_to(
        self, is_anchor: Callable[[Cursor], bool], is_start: Callable[[Cursor], bool], since: int | None = None
    ) -> None:
        """Skip to the next anchor outside of nested brackets, or to a start, which counts at any depth.

        ``since`` is the index of the token where the broken part began: braces opened since then are closed first,
        so that their closing brace is not mistaken for the end of the surrounding block. Other brackets count only to
        the end of the line, because a missing one must not hide the rest of the text.
        """
        braces = depth = 0
        # At the end of the text there is nothing to skip; every enclosing block gets here in turn.
        first = self._index if since is None or self.at_end else since
        for token in self._tokens[first : self._index]:
            braces = max(0, braces + _BRACES.get(token.text, 0))
            depth = max(0, depth + _BRACKETS.get(token.text, 0))
        while not self.at_end and not is_start(self):
            if depth and not braces and (self.at("}") or self.starts_line):
                depth = 0
            if not braces and not depth and is_anchor(self):
                return
            braces = max(0, braces + _BRACES.get(self.token.text, 0))
            depth = max(0, depth + _BRACKETS.get(self.token.text, 0))
            self.advance()

    def count_operator(self) -> None:
        """Guard the depth of the tree: more than ``EXPRESSION_OPERATORS_MAX`` operators are a diagnostic."""
        self._operators += 1
        if self._operators > EXPRESSION_OPERATORS_MAX:
            message = f"an expression has at most {EXPRESSION_OPERATORS_MAX} operators"
            raise SyntaxProblem(message, self.token.span, "compare with many values by `in [...]`")

    def start_expression(self) -> None:
        """Reset the operator count."""
        self._operators = 0

    def nested(self) -> Cursor:
        """Guard recursion, as a context: deeper than ``NESTING_MAX`` is a diagnostic, not a stack overflow."""
        if self._depth >= NESTING_MAX:
            raise SyntaxProblem(f"nested deeper than {NESTING_MAX} levels", self.token.span)
        return self

    # The cursor is its own context: every expression enters one, and a generator would cost as much as its tokens.
    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *_error: object) -> None:
        self._depth -= 1


def describe(token: Token) -> str:
    """A token as messages name it."""
    if token.kind is Kind.END:
        return "the end of the text"
    shown = token.text if len(token.text) <= 40 else token.text[:37] + "..."
    if token.kind is Kind.STRING:
        # A string may contain line breaks and control characters; a message is one line.
        return "".join(char if char.isprintable() else repr(char)[1:-1] for char in shown)
    return f"`{shown}`"


_FAMILIAR_TYPES = {
    **dict.fromkeys(("int", "integer", "number"), "`I32` or `I64`"),
    **dict.fromkeys(("float", "real"), "`F64` or `F32`"),
    **dict.fromkeys(("decimal", "numeric", "money", "bigdecimal"), "`Decimal(10, 2)`"),
    **dict.fromkeys(("long", "bigint"), "`I64`"),
    **dict.fromkeys(("double",), "`F64`"),
    **dict.fromkeys(("str", "text", "varchar", "char"), "`String`"),
    **dict.fromkeys(("uuid", "guid"), "`Uuid`"),
    **dict.fromkeys(("json", "jsonb", "object", "map", "struct", "any", "variant"), "`Json`"),
    **dict.fromkeys(("time", "localtime"), "`Time`"),
    **dict.fromkeys(("duration", "interval", "timedelta"), "`Duration`"),
    **dict.fromkeys(("boolean",), "`Bool`"),
    **dict.fromkeys(("timestamp", "instant"), "`DateTime`"),
    **dict.fromkeys(("bytes", "binary", "bytea"), "`Blob`"),
    **dict.fromkeys(("list", "array"), "a list, as in `[String]`"),
    **dict.fromkeys(("embedding",), "`Vector(384)`"),
}
"""Type names of other languages, for suggestions."""


def parse_type(cursor: Cursor, *, allow_enum: bool) -> TypeRef:
    """A type reference, shared by both languages; only properties may be enums."""
    start = cursor.token.span
    is_list = False
    dimension: int | None = None
    enum_values: tuple[str, ...] | None = None
    digits: tuple[int, int] | None = None
    if cursor.take("["):
        is_list = True
        if cursor.token.text == "Json":
            raise cursor.problem("expected the items of a list", "a Json value may be an array itself: write `Json`")
        name = _scalar_name(cursor)
        digits = _digits(cursor) if name == "Decimal" else None
        hint = f"the list is optional, not its items: `[{name}]?`" if cursor.at("?") else None
        cursor.expect("]", "after the item type of a list", hint)
    elif cursor.at("enum") and allow_enum:
        name, enum_values = "enum", _enum_values(cursor)
    elif cursor.token.text == "Vector":
        name, dimension = "Vector", _dimension(cursor)
    else:
        name = _scalar_name(cursor)
        digits = _digits(cursor) if name == "Decimal" else None
        if cursor.at("[") and cursor.peek().text == "]":
            raise cursor.problem("expected the end of the type", f"a list is written `[{name}]`")
    nullable = cursor.take("?")
    return TypeRef(name, cursor.since(start), is_list, nullable, dimension, enum_values, digits)


def _scalar_name(cursor: Cursor) -> str:
    names = [name for name, scalar in SCALARS_BY_NAME.items() if scalar.info.is_listable]
    token = cursor.token
    if token.kind in (Kind.TYPE_NAME, Kind.WORD) and token.text not in names:
        if token.text in ("enum", "Vector"):
            hint = "a list holds scalars; enums and vectors cannot be items, and a parameter cannot be an enum"
        else:
            familiar = _FAMILIAR_TYPES.get(token.text.lower())
            similar = f"did you mean {familiar}?" if familiar else cursor.suggest(token.text, names)
            hint = similar or f"the scalar types are {', '.join(names)}"
        raise cursor.problem("expected a type", hint)
    return cursor.expect_kind(Kind.TYPE_NAME, "a type").text


def _enum_values(cursor: Cursor) -> tuple[str, ...]:
    cursor.advance()
    cursor.expect("(", "after `enum`")
    if cursor.at(")"):
        raise SyntaxProblem("an enum must include at least one value", cursor.token.span)
    values: list[Name] = [cursor.joined_word("an enum value")]
    while cursor.take(","):
        values.append(cursor.joined_word("an enum value"))
    cursor.expect(")", "after the enum values")
    seen: set[str] = set()
    for value in values:
        if value.text in seen:
            message = f"an enum cannot include duplicate values: `{value.text}` is written twice"
            cursor.diagnostics.error(SYNTAX, message, value.span)
        seen.add(value.text)
    return tuple(value.text for value in values)


def _dimension(cursor: Cursor) -> int:
    cursor.advance()
    cursor.expect("(", "after `Vector`: a vector type names its dimension, as in `Vector(384)`")
    start = cursor.token.span
    dimension = cursor.integer("the dimension of a vector", VECTOR_DIMENSION_MAX)
    if dimension == 0:
        raise SyntaxProblem("the dimension of a vector must be greater than zero", start)
    cursor.expect(")", "after the dimension")
    return dimension


def _digits(cursor: Cursor) -> tuple[int, int]:
    """``(10, 2)`` behind ``Decimal``; without the second number there are no digits behind the point."""
    cursor.expect("(", "after `Decimal`: it names its digits and those behind the point, as in `Decimal(10, 2)`")
    start = cursor.token.span
    precision = cursor.integer("the number of digits", DIGITS_MAX)
    scale = cursor.integer("the digits behind the point", DIGITS_MAX) if cursor.take(",") else 0
    cursor.expect(")", "after the digits")
    if precision == 0 or scale > precision:
        message = f"a decimal has 1 to {DIGITS_MAX} digits, and at most as many behind the point"
        raise SyntaxProblem(message, cursor.since(start))
    return precision, scale
