"""Inputs of the shell, as text: where one ends, and which language it is in.

An input is a backslash command, SQL, or one or more queries. A query ends where the grammar lets it end; ``;`` and a
blank line end any input. Pure: nothing is run, and no catalog is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.lexer import Kind, lex
from omnigraph.lang.source import Source

_SQL_WORDS: Final = ("select", "with")
CONTINUATIONS: Final = ("having", "union", "order", "limit", "offset")
"""Clauses that may follow a complete query, so that a script may write them on lines of their own."""
_WORDS: Final = {"exit": "\\q", "quit": "\\q", "help": "\\help"}
"""Words that users of other shells type."""
_SQL_PART: Final = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|(?P<open>['"]|/\*)|(?P<mark>[();])|[^\s]""",
    re.DOTALL | re.VERBOSE,
)


class Language(Enum):
    """The languages of an input."""

    COMMAND = auto()
    SQL = auto()
    QUERY = auto()


class Line(NamedTuple):
    """A line of a script with its number, from 1. ``text`` may hold the lines that continue it."""

    number: int
    text: str


class Piece(NamedTuple):
    """One of several parts of an input, with the text before it."""

    before: str
    text: str


def language(text: str) -> Language:
    """The language of an input."""
    if text.lstrip().startswith("\\") or text.strip().lower().rstrip("; ") in _WORDS:
        return Language.COMMAND
    return Language.SQL if first_word(text).lower() in _SQL_WORDS else Language.QUERY


def first_word(text: str) -> str:
    """The first word after white space; empty if the text starts otherwise."""
    found = re.match(r"\s*(\w+)", text)
    return found.group(1) if found else ""


def command_words(text: str) -> tuple[str, str]:
    """The name of a command, with its backslash, and the rest of the text."""
    name, _, rest = text.strip().partition(" ") if " " in text.strip().split("\n")[0] else text.strip().partition("\n")
    alias = _WORDS.get(name.lower().rstrip(";"))
    return (alias, "") if alias else (name, rest.strip())


def is_blank(text: str) -> bool:
    """True if a text holds nothing but white space and comments of the query language."""
    return language(text) is Language.QUERY and len(lex(Source(text)).tokens) == 1


def is_complete(text: str) -> bool:
    """True if an input can be run, even if only to report its mistakes; false while more must follow."""
    match language(text):
        case Language.COMMAND:
            name, rest = command_words(text)
            if name == "\\sql":
                return bool(rest) and _is_closed_sql(rest) and ("\n" not in text.strip() or _ends_sql(rest))
            return not rest or name != "\\explain" or is_complete(rest)
        case Language.SQL:
            return _ends_sql(text)
        case Language.QUERY:
            *_, last = split_queries(text)
            return is_blank(last.text) or not _needs_more(last.text)


@dataclass(slots=True)
class Braces:
    """The open braces of an input that arrives line by line, so that a long one is not parsed again at every line."""

    _depth: int = 0
    _is_known: bool = True
    """False after a line that is no query by itself: a string or comment of several lines, or SQL."""

    def add(self, line: str) -> None:
        tokens = lex(Source(line)).tokens
        self._is_known = self._is_known and not any(token.kind is Kind.ERROR for token in tokens)
        self._depth += sum((token.text == "{") - (token.text == "}") for token in tokens)

    @property
    def are_open(self) -> bool:
        """True if more of the input must follow: within braces a blank line is layout and does not end it."""
        return self._is_known and self._depth > 0


def braces(text: str) -> Braces:
    """The braces of a whole text."""
    found = Braces()
    found.add(text)
    return found


def split_queries(text: str) -> list[Piece]:
    """The parts of an input between semicolons, which the query language itself does not have."""
    return _split(
        text,
        [
            token.span.start
            for token in lex(Source(text)).tokens
            if token.kind is Kind.ERROR and text[token.span.start : token.span.end] == ";"
        ],
    )


def split_sql(text: str) -> list[str]:
    """The statements of a text, without the semicolons between them."""
    pieces = _split(text, [part.start() for part in _SQL_PART.finditer(text) if part["mark"] == ";"])
    return [piece.text.strip() for piece in pieces if piece.text.strip()]


def _split(text: str, ends: Sequence[int]) -> list[Piece]:
    starts = [0, *(end + 1 for end in ends)]
    return [Piece(text[:start], text[start:end]) for start, end in zip(starts, [*ends, None], strict=True)]


_HEADER: Final = "query shell() {"


def has_header(text: str) -> bool:
    """True for a text of named queries; false for a body, which the shell puts into a query of its own."""
    return first_word(_without_comments(text)) == "query"


def _without_comments(text: str) -> str:
    tokens = lex(Source(text)).tokens
    return text[tokens[0].span.start :]


def parses(text: str) -> bool:
    """True if every part of a text is a query without a mistake of syntax."""
    parts = [piece.text for piece in split_queries(text) if not is_blank(piece.text)]
    return not any(parse_queries(Source(_whole(part))).diagnostics for part in parts)


def _whole(text: str) -> str:
    return text if has_header(text) else f"{_HEADER}{text}\n}}"


def _needs_more(text: str) -> bool:
    """True if the first mistake is that the text ends: the parser expected more."""
    if any(
        token.kind is Kind.ERROR and text.startswith(('"', "/*"), token.span.start)
        for token in lex(Source(text)).tokens
    ):
        return True
    end = len(text) + (0 if has_header(text) else len(_HEADER))
    problems = parse_queries(Source(_whole(text))).diagnostics
    return bool(problems) and problems[0].span.start >= end


def _is_closed_sql(text: str) -> bool:
    parts = list(_SQL_PART.finditer(text))
    depth = sum((part["mark"] == "(") - (part["mark"] == ")") for part in parts)
    return depth <= 0 and not any(part["open"] for part in parts)


def _ends_sql(text: str) -> bool:
    marks = [part["mark"] for part in _SQL_PART.finditer(text) if not part.group().startswith(("--", "/*"))]
    return bool(marks) and marks[-1] == ";" and _is_closed_sql(text)


def joined(lines: Iterable[str]) -> Iterator[Line]:
    """The lines of a script, numbered; a line that continues a complete query is joined to it.

    A line that ends with ``;``, a command and a blank line are passed on immediately, so that a program on the other
    side of a pipe can wait for their effect.
    """
    held: Line | None = None
    for number, line in enumerate(lines, 1):
        if held is not None and first_word(line) in CONTINUATIONS:
            held = Line(held.number, f"{held.text}\n{line}")
        else:
            if held is not None:
                yield held
            held = Line(number, line)
        if not line.strip() or line.rstrip().endswith(";") or language(held.text) is not Language.QUERY:
            yield held
            held = None
    if held is not None:
        yield held
