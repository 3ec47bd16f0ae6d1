"""Lexer of both languages.

Produces all tokens of a text, and its comments separately (only the formatters need them). It never fails: an invalid
piece of text becomes an ``ERROR`` token with a message, which the parser reports. Keywords are plain words, because no
word is reserved in either language.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.lang.source import Source, Span


class Kind(Enum):
    """Token kinds. Punctuation is one kind, distinguished by its text."""

    WORD = "a name"
    TYPE_NAME = "a type name"
    VARIABLE = "a variable"
    STRING = "a string"
    INTEGER = "an integer"
    FLOAT = "a number"
    PUNCTUATION = "punctuation"
    ERROR = "an invalid token"
    END = "the end of the text"


class Token(NamedTuple):
    """One token: ``text`` is its spelling (for ERROR the message), ``value`` what a string literal denotes."""

    kind: Kind
    text: str
    span: Span
    value: str = ""


class Comment(NamedTuple):
    """A comment with its delimiters; ``own_line`` if only white space precedes it on its line."""

    text: str
    span: Span
    own_line: bool


@dataclass(frozen=True, slots=True)
class Lexed:
    """The tokens of a text, ended by one END token, and its comments."""

    source: Source
    tokens: tuple[Token, ...]
    comments: tuple[Comment, ...]


_TOKEN = re.compile(
    r"""
    [ \t\r\n]*
    (?:
      (?P<comment>//[^\n]*|/\*(?s:.*?)\*/)
    | (?P<open_comment>/\*)
    | (?P<word>[a-z_][A-Za-z0-9_]*)
    | (?P<type>[A-Z][A-Za-z0-9_]*)
    | (?P<variable>\$[a-z_][A-Za-z0-9_]*)
    | (?P<bad_variable>\$[A-Za-z0-9_]+)
    | (?P<float>[0-9]+\.[0-9]+)
    | (?P<integer>[0-9]+)
    | (?P<string>"(?:[^"\\]|\\(?s:.))*")
    | (?P<open_string>")
    | (?P<quoted>'[^'\n]*'|`[^`\n]*`|[\u201c\u201d][^\u201c\u201d\n]*[\u201c\u201d])
    | (?P<punctuation>->|\.\.|>=|<=|!=|\|(?!\|)|[{}()\[\]:,.@=<>?+\-*/%])
    | (?P<end>\Z)
    | (?P<unknown>&&|\|\||(?s:.))
    )
    """,
    re.VERBOSE,
)
"""One token and the white space before it: as matches of their own, the spaces would double the number of matches."""

_SURROGATE = re.compile("[\ud800-\udfff]")
"""A lone surrogate: possible in Python strings, invalid in UTF-8."""

_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_KINDS = {
    "word": Kind.WORD,
    "type": Kind.TYPE_NAME,
    "variable": Kind.VARIABLE,
    "float": Kind.FLOAT,
    "integer": Kind.INTEGER,
    "punctuation": Kind.PUNCTUATION,
}


def lex(source: Source) -> Lexed:
    """Split a text into tokens and comments. Total: any text gives a result."""
    tokens: list[Token] = []
    comments: list[Comment] = []
    text = source.text
    surrogate = None if text.isascii() else _SURROGATE.search(text)
    if surrogate is not None:
        message = f"{surrogate.group()!r} is half of a surrogate pair, which UTF-8 cannot encode"
        tokens = [Token(Kind.ERROR, message, Span(*surrogate.span())), Token(Kind.END, "", Span(len(text), len(text)))]
        return Lexed(source, tuple(tokens), ())
    # A quarter of the time of a parser is spent here: the constructors of named tuples are Python code, that of
    # `tuple` is not.
    new = tuple.__new__
    for match in _TOKEN.finditer(text):
        group = match.lastgroup
        assert group is not None, "the last alternative matches any character"
        spelling, span = match[group], new(Span, match.span(group))
        kind = _KINDS.get(group)
        if kind is not None:
            tokens.append(new(Token, (kind, spelling, span, "")))
        elif group == "comment":
            own_line = not match.start() or "\n" in text[match.start() : span.start]
            comments.append(Comment(spelling.rstrip(), span, own_line))
        elif group == "string":
            tokens.append(_string(spelling, span))
        elif group in ("open_string", "open_comment"):
            what = "string" if group == "open_string" else "comment"
            tokens.append(Token(Kind.ERROR, f"this {what} is never closed", Span(span.start, len(text))))
            break
        elif group == "end":
            break
        else:
            tokens.append(Token(Kind.ERROR, _explain(group, spelling), span))
    tokens.append(Token(Kind.END, "", Span(len(text), len(text))))
    return Lexed(source, tuple(tokens), tuple(comments))


def _string(spelling: str, span: Span) -> Token:
    body = spelling[1:-1]
    if "\\" not in body:
        return Token(Kind.STRING, spelling, span, body)
    for escape in _ESCAPE.finditer(body):
        if escape.group(1) not in _ESCAPES:
            start = span.start + 1 + escape.start()
            # A message is one line, even if the character after the backslash is a line break.
            shown = escape.group(1) if escape.group(1).isprintable() else repr(escape.group(1))[1:-1]
            message = f'unknown escape `\\{shown}`; a string knows \\" \\\\ \\n \\r \\t'
            return Token(Kind.ERROR, message, Span(start, start + 2))
    return Token(Kind.STRING, spelling, span, _ESCAPE.sub(lambda match: _ESCAPES[match.group(1)], body))


_EXPLANATIONS = {
    "#": "`#` does not start a comment; write `//`",
    "$": "`$` must be followed by a name that starts with a lower-case letter or `_`",
    ";": "`;` is not used; white space separates",
    "&": "`&` is not an operator; write `and`",
    "&&": "`&&` is not an operator; write `and`",
    "||": "`||` is not an operator; write `or`",
    "!": "`!` is only used in `!=`; to exclude, write `not { ... }`",
    "'": "a string starts and ends with a double quote",
    "\ufeff": "a byte order mark is not white space; save the text without one",
}


def _explain(group: str, spelling: str) -> str:
    """The message for a piece of text that is not a token."""
    if group == "quoted":
        return 'a string is written in double quotes: "..."'
    if group == "bad_variable":
        return "the name of a variable starts with a lower-case letter or `_`"
    return _EXPLANATIONS.get(spelling) or f"unexpected character {spelling!r}"
