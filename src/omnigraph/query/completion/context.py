"""The position in an unfinished query: enclosing blocks, and the types of the variables.

Works on tokens instead of a syntax tree, because the text around a cursor rarely parses. Serves ``completion``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import Final

from omnigraph.lang.lexer import Kind, Token
from omnigraph.lang.source import Span
from omnigraph.query.scope import BoundVariable, VariableKind
from omnigraph.schema.catalog import Catalog

STATEMENTS: Final = ("insert", "upsert", "update", "delete")
_END: Final = Token(Kind.END, "", Span(0, 0))


class Block(Enum):
    """The kinds of brackets in a query."""

    TOP = auto()
    """Outside of all brackets."""
    PARAMETERS = auto()
    BODY = auto()
    MATCH = auto()
    RETURN = auto()
    HAVING = auto()
    ORDER = auto()
    RETURNING = auto()
    """Braces behind a statement, whose bare names are properties."""
    PROPERTIES = auto()
    """Braces of a binding, an insert or a ``set``."""
    HOPS = auto()
    ARGUMENTS = auto()
    """Parentheses or square brackets in an expression."""


_BLOCKS: Final = {
    "match": Block.MATCH,
    "not": Block.MATCH,
    "maybe": Block.MATCH,
    "exists": Block.MATCH,
    "return": Block.RETURN,
    "distinct": Block.RETURN,
    "having": Block.HAVING,
    "returning": Block.RETURNING,
    "order": Block.ORDER,
    "set": Block.PROPERTIES,
}


@dataclass(frozen=True, slots=True)
class Frame:
    """An open bracket: the index of the first token after it, and the type whose properties it holds."""

    block: Block
    start: int
    type_name: str | None = None
    statement: str | None = None
    """The keyword of a mutation that opened the braces; None for a binding."""


def frames(tokens: Sequence[Token]) -> list[Frame]:
    """The open brackets at the end of the tokens, outermost first."""
    stack = [Frame(Block.TOP, 0)]
    for index in range(len(tokens)):
        _follow_brackets(stack, tokens, index)
    return stack


def _follow_brackets(stack: list[Frame], tokens: Sequence[Token], index: int) -> None:
    """Open or close a bracket, if the token is one."""
    token = tokens[index]
    if token.text in ("{", "(", "[") and token.kind is Kind.PUNCTUATION:
        stack.append(_opened(tokens, index))
    elif token.text in ("}", ")", "]") and token.kind is Kind.PUNCTUATION and len(stack) > 1:
        stack.pop()


def back(tokens: Sequence[Token], number: int) -> Token:
    """The token that many places from the end, from 1; an END token if there is none."""
    return tokens[-number] if number <= len(tokens) else _END


def _opened(tokens: Sequence[Token], index: int) -> Frame:
    before = tokens[:index]
    last = back(before, 1)
    if tokens[index].text == "(" and back(before, 2).text == "query":
        return Frame(Block.PARAMETERS, index + 1)
    if tokens[index].text != "{":
        return Frame(Block.ARGUMENTS, index + 1)
    if last.text == "set":
        return Frame(Block.PROPERTIES, index + 1, back(before, 2).text, back(before, 3).text)
    if last.kind is Kind.TYPE_NAME:
        word = back(before, 2).text
        return Frame(Block.PROPERTIES, index + 1, last.text, word if word in STATEMENTS else None)
    if last.text in (")", ""):
        return Frame(Block.BODY, index + 1)
    return Frame(_BLOCKS.get(last.text, Block.HOPS), index + 1)


def returned_names(tokens: Sequence[Token]) -> list[str]:
    """The aliases that the former stage returns, which are variables of the present one."""
    former: Sequence[Token] = ()
    stack, start = [Frame(Block.TOP, 0)], 0
    for index, token in enumerate(tokens):
        _follow_brackets(stack, tokens, index)
        if token.text == "then" and stack[-1].block in (Block.TOP, Block.BODY):
            former, start = tokens[start:index], index
    named = (alias.text for word, alias in pairwise(former) if word.text == "as" and alias.kind is Kind.WORD)
    return list(dict.fromkeys(named))


def variable_types(tokens: Sequence[Token], catalog: Catalog) -> dict[str, BoundVariable]:
    """The variables of a text by name, as far as its bindings and traversals tell their types."""
    found: dict[str, BoundVariable] = {}
    for index, token in enumerate(tokens):
        if token.kind is not Kind.VARIABLE:
            continue
        if _text(tokens, index + 1) == ":" and _kind(tokens, index + 2) is Kind.TYPE_NAME:
            _bind(found, token, VariableKind.NODE, tokens[index + 2].text, catalog)
        else:
            _follow(found, tokens, index, catalog)
    return found


def _follow(found: dict[str, BoundVariable], tokens: Sequence[Token], index: int, catalog: Catalog) -> None:
    """Learn from a traversal at ``index``: ``$a [$e: [[all] shortest]] [<] edge [>] $b``."""
    left, place = tokens[index], index + 1
    bound: Token | None = None
    if _kind(tokens, place) is Kind.VARIABLE and _text(tokens, place + 1) == ":":
        bound, place = tokens[place], place + 2
    place += bound is not None and _text(tokens, place) == "all" and _text(tokens, place + 1) == "shortest"
    is_path = _text(tokens, place) == "shortest" and bound is not None
    place += is_path
    place += _text(tokens, place) == "<"
    edge = catalog.edge(_text(tokens, place)) if _kind(tokens, place) is Kind.WORD else None
    if edge is None:
        return
    place += 1
    place += _text(tokens, place) == ">"
    if _text(tokens, place) == "{":
        place = next((at + 1 for at in range(place, len(tokens)) if tokens[at].text == "}"), len(tokens))
    if bound is not None:
        _bind(found, bound, VariableKind.PATH if is_path else VariableKind.EDGE, edge.name, catalog)
    known = found.get(left.text[1:])
    ends = (edge.source.types, edge.target.types)
    if known and known.type_name not in ends[0]:
        ends = (ends[1], ends[0])
    for end, types in ((left, ends[0]), (tokens[place] if place < len(tokens) else None, ends[1])):
        # Of an end with several types the first one stands for all: they are of one kind most of the time.
        if end is not None and end.kind is Kind.VARIABLE:
            _bind(found, end, VariableKind.NODE, types[0], catalog)


def _bind(
    found: dict[str, BoundVariable], variable: Token, kind: VariableKind, type_name: str, catalog: Catalog
) -> None:
    names = catalog.edges if kind is not VariableKind.NODE else {*catalog.nodes, *catalog.interfaces}
    if type_name in names and variable.text != "$_":
        found.setdefault(variable.text[1:], BoundVariable(variable.text[1:], kind, type_name))


def _text(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text if index < len(tokens) else ""


def _kind(tokens: Sequence[Token], index: int) -> Kind:
    return tokens[index].kind if index < len(tokens) else Kind.END
