"""The lexer splits any text, and says what is wrong with what is not a token."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.lang.lexer import Kind, lex
from omnigraph.lang.source import Source

TOKENS = [
    ("name _x a1_B", [(Kind.WORD, "name"), (Kind.WORD, "_x"), (Kind.WORD, "a1_B")]),
    ("Person A_1", [(Kind.TYPE_NAME, "Person"), (Kind.TYPE_NAME, "A_1")]),
    ("$p $_ $_a", [(Kind.VARIABLE, "$p"), (Kind.VARIABLE, "$_"), (Kind.VARIABLE, "$_a")]),
    ("12 007", [(Kind.INTEGER, "12"), (Kind.INTEGER, "007")]),
    ("1.5 1.", [(Kind.FLOAT, "1.5"), (Kind.INTEGER, "1"), (Kind.PUNCTUATION, ".")]),
    ("1..2", [(Kind.INTEGER, "1"), (Kind.PUNCTUATION, ".."), (Kind.INTEGER, "2")]),
    ("1.5..2.5", [(Kind.FLOAT, "1.5"), (Kind.PUNCTUATION, ".."), (Kind.FLOAT, "2.5")]),
    ('"a b" ""', [(Kind.STRING, '"a b"'), (Kind.STRING, '""')]),
    ("->>=<=!=--", [(Kind.PUNCTUATION, text) for text in ("->", ">=", "<=", "!=", "-", "-")]),
    ("{}()[]:,.@=<>?+-*/%", [(Kind.PUNCTUATION, text) for text in "{}()[]:,.@=<>?+-*/%"]),
    ("a\tb\r\nc", [(Kind.WORD, text) for text in "abc"]),
]


@pytest.mark.parametrize(("text", "expected"), TOKENS)
def test_text_is_split_into_tokens(text: str, expected: list[tuple[Kind, str]]) -> None:
    tokens = lex(Source(text)).tokens
    assert [(token.kind, token.text) for token in tokens[:-1]] == expected
    assert tokens[-1].kind is Kind.END
    assert [text[slice(*token.span)] for token in tokens] == [token.text for token in tokens]


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        (r'"\"\\\n\r\t"', '"\\\n\r\t'),
        ('"two\nlines"', "two\nlines"),
        ('"é😀 // no /* comment"', "é😀 // no /* comment"),
    ],
)
def test_a_string_denotes_its_unescaped_text(spelling: str, value: str) -> None:
    token = lex(Source(spelling)).tokens[0]
    assert (token.kind, token.value) == (Kind.STRING, value)


ERRORS = [
    ("#", "write `//`", "#"),
    (";", "not used", ";"),
    ("$", "must be followed by a name", "$"),
    ("$Person", "lower-case", "$Person"),
    ("$1", "lower-case", "$1"),
    ("'it'", "double quotes", "'it'"),
    ("it's", "double quote", "'"),
    ("“x”", "double quotes", "“x”"),
    ("`x`", "double quotes", "`x`"),
    ("a && b", "write `and`", "&&"),
    ("a || b", "write `or`", "||"),
    ("a & b", "write `and`", "&"),
    ("!a", "`!=`", "!"),
    ("~", "unexpected character '~'", "~"),
    ("\x00", "unexpected character '\\x00'", "\x00"),
    ("\ufeffa", "byte order mark", "\ufeff"),
    ('"open', "this string is never closed", '"open'),
    ('"open\\"', "this string is never closed", '"open\\"'),
    ("/* open", "this comment is never closed", "/* open"),
    (r'"a\qb"', "unknown escape `\\q`", r"\q"),
    ('"a\\\nb"', "unknown escape `\\\\n`", "\\\n"),
    (r'"a\u0041"', "unknown escape `\\u`", r"\u"),
]


@pytest.mark.parametrize(("text", "message", "where"), ERRORS)
def test_what_is_not_a_token_is_explained(text: str, message: str, where: str) -> None:
    (error,) = [token for token in lex(Source(text)).tokens if token.kind is Kind.ERROR]
    assert message in error.text
    assert error.text.isprintable()
    assert text[slice(*error.span)] == where


def test_comments_are_kept_apart_and_know_whether_they_have_their_line_alone() -> None:
    text = "// a  \nx // b\n  /* c\n d */ /* e */ y\n\t/**/ // f"
    comments = lex(Source(text)).comments
    assert [(comment.text, comment.own_line) for comment in comments] == [
        ("// a", True),
        ("// b", False),
        ("/* c\n d */", True),
        ("/* e */", False),
        ("/**/", True),
        ("// f", False),
    ]


@given(st.text(max_size=100) | st.text('"/*\n\\ $a1.#', max_size=40))
def test_every_character_is_in_a_token_a_comment_or_white_space(text: str) -> None:
    lexed = lex(Source(text))
    assert lexed.tokens[-1].span == (len(text), len(text))
    spans = sorted(
        [token.span for token in lexed.tokens if token.kind is not Kind.ERROR] + [c.span for c in lexed.comments]
    )
    assert all(left.end <= right.start for left, right in pairwise(spans))
    if not any(token.kind is Kind.ERROR for token in lexed.tokens):
        gaps = zip([0, *(span.end for span in spans)], [span.start for span in spans], strict=False)
        assert not "".join(text[start:end] for start, end in gaps).strip(" \t\r\n")
