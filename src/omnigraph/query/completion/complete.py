"""Completion of a query at a cursor: names of the catalog, variables, parameters, functions and keywords.

Pure: a text, a position and a catalog give the candidates. The command line, a server and an editor can use it.
A candidate fits the grammar at its place; it is not promised that the whole query then compiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final

from omnigraph.core.operators import AggregateFunction, BinaryOperator, Quantifier
from omnigraph.core.scalars import Scalar
from omnigraph.lang.gq_calls import FUNCTIONS
from omnigraph.lang.gq_expressions import WORD_COMPARISONS
from omnigraph.lang.lexer import Kind, Token, lex
from omnigraph.lang.source import Source
from omnigraph.query.completion.context import (
    STATEMENTS,
    Block,
    Frame,
    back,
    frames,
    returned_names,
    variable_types,
)
from omnigraph.query.expressions import PATH_PARTS
from omnigraph.query.scope import BoundVariable, VariableKind, as_edge_word
from omnigraph.query.types.manual import signatures
from omnigraph.schema.catalog import Catalog, EdgeType, EntityType

_WORD: Final = re.compile(r"\$?[A-Za-z0-9_]*\Z")
_CONDITIONS: Final = (*WORD_COMPARISONS, "not in", "is null", "is not null", "and", "or")
_CLAUSES: Final = {
    "": ("having", "union", "order", "limit", "offset", "then"),
    "having": ("union", "order", "limit", "offset", "then"),
    "union": ("match", "all"),
    "order": ("limit", "offset", "then"),
    "limit": ("offset", "then"),
    "offset": ("then",),
    "then": ("match", "return"),
}
"""The clauses that may follow a ``return`` block, by the last one of them."""
_STARTS: Final = ("match", *STATEMENTS)
_CALLS: Final = (*FUNCTIONS, "cast", *(quantifier.value for quantifier in Quantifier))
_OPERATORS: Final = frozenset(operator.value for operator in BinaryOperator)


class CandidateKind(Enum):
    """The kinds of candidates, for the display of an editor."""

    KEYWORD = "keyword"
    NODE_TYPE = "node type"
    EDGE_TYPE = "edge type"
    PROPERTY = "property"
    VARIABLE = "variable"
    PARAMETER = "parameter"
    FUNCTION = "function"
    SCALAR = "type"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that may stand at the cursor, with a remark such as the type of a property."""

    text: str
    kind: CandidateKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """The candidates; each replaces the text from ``start`` to the cursor."""

    start: int
    candidates: tuple[Candidate, ...]


def complete(text: str, position: int, catalog: Catalog, parameters: Iterable[str] = ()) -> Completion:
    """The candidates at a position. ``parameters`` are names that may be used without a declaration."""
    match = _WORD.search(text, 0, position)
    assert match is not None, "the pattern matches the empty text"
    start, word = match.start(), match.group()
    before = _tokens(text[:start])
    if before is None or word[:1].isdigit():
        return Completion(start, ())
    after = _tokens(text[position:]) or []
    place = _Place(catalog, before, variable_types([*before, *after], catalog), tuple(parameters))
    offered = place.variables() if word.startswith("$") else place.candidates()
    folded = word.lower()
    found = {item.text: item for item in offered if item.text.lower().startswith(folded) and item.text != word}
    return Completion(start, tuple(found.values()))


def _tokens(text: str) -> list[Token] | None:
    """The tokens of a text; None if it ends within a string or a comment."""
    lexed = lex(Source(text))
    if lexed.comments and lexed.comments[-1].span.end == len(text) and lexed.comments[-1].text.startswith("//"):
        return None
    *tokens, _end = lexed.tokens
    # The lexer stops at a string or comment that is never closed.
    is_open = bool(tokens) and tokens[-1].kind is Kind.ERROR and text.startswith(('"', "/*"), tokens[-1].span.start)
    return None if is_open else tokens


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in a query: the tokens before it, and the variables of the whole text."""

    catalog: Catalog
    before: Sequence[Token]
    bound: dict[str, BoundVariable]
    parameters: tuple[str, ...]

    def candidates(self) -> Iterator[Candidate]:
        """Candidates for a place that does not begin with a dollar sign."""
        frame = frames(self.before)[-1]
        if self._last(1) == "." and back(self.before, 2).kind is Kind.VARIABLE:
            yield from self._properties_of(self._last(2)[1:])
            return
        match frame.block:
            case Block.PARAMETERS:
                if self._last(1) in (":", "["):
                    yield from (Candidate(scalar.value, CandidateKind.SCALAR) for scalar in Scalar)
            case Block.PROPERTIES:
                yield from self._in_properties(frame)
            case Block.MATCH:
                yield from self._in_match()
            case Block.RETURN | Block.HAVING | Block.ORDER | Block.ARGUMENTS:
                yield from self._in_expression(frame.block)
            case Block.TOP | Block.BODY:
                yield from self._in_body(frame)
            case Block.RETURNING:
                yield from self._written_properties()
                yield from _keywords(("id", "as"))
            case Block.HOPS:
                return

    def variables(self) -> Iterator[Candidate]:
        """Bound variables, then parameters: those declared in the text, and those the caller knows."""
        for name, variable in self.bound.items():
            yield Candidate(f"${name}", CandidateKind.VARIABLE, f"{variable.kind.value} {variable.type_name}")
        for name in returned_names(self.before):
            yield Candidate(f"${name}", CandidateKind.VARIABLE, "column")
        for name in (*self._declared(), *self.parameters):
            yield Candidate(f"${name}", CandidateKind.PARAMETER)

    def _declared(self) -> Iterator[str]:
        for variable, colon, type_ in zip(self.before, self.before[1:], self.before[2:], strict=False):
            is_scalar = type_.text in (*(scalar.value for scalar in Scalar), "[")
            if variable.kind is Kind.VARIABLE and colon.text == ":" and is_scalar:
                yield variable.text[1:]

    def _last(self, number: int) -> str:
        return back(self.before, number).text

    def _properties_of(self, name: str) -> Iterator[Candidate]:
        variable = self.bound.get(name)
        if variable is None:
            return
        if variable.kind is VariableKind.PATH:
            yield from (Candidate(part.value, CandidateKind.PROPERTY) for part in PATH_PARTS)
        else:
            yield from self._properties_of_type(variable.type_name)

    def _properties_of_type(self, name: str) -> Iterator[Candidate]:
        """The properties of a type, or of an interface."""
        interface = self.catalog.interfaces.get(name)
        if interface is None:
            yield from _properties(self.catalog.node(name) or self.catalog.edge(name))
        else:
            yield from (Candidate(item.name, CandidateKind.PROPERTY, str(item.type)) for item in interface.properties)

    def _in_properties(self, frame: Frame) -> Iterator[Candidate]:
        if self._last(1) == ":":
            yield from self.variables()
            yield from _keywords(("true", "false", "null", "now()"))
            return
        inside = self.before[frame.start :]
        given = {name.text for name, colon in pairwise(inside) if colon.text == ":"}
        yield from (item for item in self._named_in_braces(frame) if item.text not in given)

    def _named_in_braces(self, frame: Frame) -> Iterator[Candidate]:
        """The properties that a binding or a statement may name, and the ends of an edge that is written."""
        name = frame.type_name or ""
        if name.startswith("$"):
            yield from self._properties_of(name[1:])
            return
        edge = self.catalog.edge(name)
        if edge is not None and frame.statement in ("insert", "upsert"):
            yield from (Candidate(end.word, CandidateKind.PROPERTY, " | ".join(end.types)) for end in edge.ends)
        if edge is None or frame.statement:
            yield from self._properties_of_type(name)

    def _in_match(self) -> Iterator[Candidate]:
        last = back(self.before, 1)
        if last.text == ":" and back(self.before, 2).kind is Kind.VARIABLE:
            yield from self._edges() if self._names_edge() else (*self._node_types(), *self._interfaces())
        elif last.text in ("<", "shortest"):
            yield from self._edges()
        elif last.kind is Kind.VARIABLE:
            is_end = self._ends_traversal(2)
            if not is_end:
                yield from self._edges(self.bound.get(last.text[1:]))
            yield from self._clause_starts() if is_end else _keywords(("in", "is null", "is not null"))
        elif self._last(2) == "." and back(self.before, 3).kind is Kind.VARIABLE:
            yield from _keywords(_CONDITIONS)
        else:
            yield from self._clause_starts()

    def _clause_starts(self) -> Iterator[Candidate]:
        yield from self.variables()
        yield from _keywords(("not", "maybe", "exists", "and", "or"))
        yield from _functions(_CALLS)

    def _names_edge(self) -> bool:
        """True in ``$a $e: ``, where an edge follows; false in ``$a knows $b $c: ``, where ``$c`` is bound."""
        return back(self.before, 3).kind is Kind.VARIABLE and not self._ends_traversal(4)

    def _ends_traversal(self, number: int) -> bool:
        """True if the token at this place from the end leads to the other end of a traversal, or to an operand."""
        token = back(self.before, number)
        is_edge = token.kind is Kind.WORD and back(self.before, number + 1).text != "."
        return is_edge or token.text == ">" or token.text in _OPERATORS or token.text == "}"

    def _node_types(self) -> Iterator[Candidate]:
        for name, node in self.catalog.nodes.items():
            yield Candidate(name, CandidateKind.NODE_TYPE, f"key {', '.join(node.key)}" if node.key else "")

    def _interfaces(self) -> Iterator[Candidate]:
        for name in self.catalog.interfaces:
            yield Candidate(name, CandidateKind.NODE_TYPE, " | ".join(self.catalog.implementers(name)))

    def _edges(self, start: BoundVariable | None = None) -> Iterator[Candidate]:
        """Edges as a traversal spells them; after a variable only those of its type."""
        edges: Iterable[EdgeType] = self.catalog.edges.values()
        if start is not None and start.kind is VariableKind.NODE:
            types = {start.type_name, *self.catalog.implementers(start.type_name)}
            edges = (edge for edge in edges if not types.isdisjoint(edge.node_types))
        for edge in edges:
            yield Candidate(as_edge_word(edge.name), CandidateKind.EDGE_TYPE, edge.ends_text)

    def _in_expression(self, block: Block) -> Iterator[Candidate]:
        after_value = back(self.before, 1).kind is Kind.VARIABLE or self._last(2) == "." or self._last(1) == ")"
        if after_value:
            yield from _keywords(
                {Block.RETURN: ("as",), Block.HAVING: _CONDITIONS, Block.ORDER: ("asc", "desc")}.get(block, ())
            )
        elif self._last(1) != "as":
            yield from self.variables()
            yield from _functions(function.value for function in AggregateFunction)
            yield from _functions(_CALLS)
            yield from _keywords(("case", "not", "exists"))

    def _in_body(self, frame: Frame) -> Iterator[Candidate]:
        last = back(self.before, 1)
        if last.text in STATEMENTS:
            yield from self._node_types()
            yield from _edge_types(self.catalog)
        elif last.kind is Kind.TYPE_NAME:
            yield from _keywords({"update": ("set",), "delete": ("where",)}.get(self._last(2), ()))
        elif last.text == "where":
            yield from self._written_properties()
        elif last.text == "return":
            yield from _keywords(("distinct",))
        else:
            yield from _keywords(self._following(frame))

    def _written_properties(self) -> Iterator[Candidate]:
        """The properties of the type that the statement names."""
        name = next((token.text for token in reversed(self.before) if token.kind is Kind.TYPE_NAME), "")
        yield from _properties(self.catalog.node(name) or self.catalog.edge(name))

    def _following(self, frame: Frame) -> tuple[str, ...]:
        """The keywords that may follow at the end of a body, or of a text without a header."""
        inside = self.before[frame.start :]
        words = _outer_words(inside)
        if not inside:
            return _STARTS if frame.block is Block.BODY else ("query", *_STARTS)
        if "query" in words and frame.block is Block.TOP:
            return ("query",)
        if words[-1:] == ["then"]:
            return _CLAUSES["then"]
        is_later = "then" in words
        stage = words[len(words) - words[::-1].index("then") :] if is_later else words
        if "return" in stage:
            last = next((word for word in reversed(stage) if word in _CLAUSES), "")
            return _CLAUSES[last] if self._last(1) not in _CLAUSES else ()
        if "match" in stage:
            return ("return",) if is_later else ("return", *STATEMENTS)
        return ("where", *STATEMENTS) if "set" in words and "where" not in words else STATEMENTS


def _outer_words(tokens: Sequence[Token]) -> list[str]:
    """The words outside of all brackets."""
    depth, words = 0, []
    for token in tokens:
        if token.kind is Kind.PUNCTUATION:
            depth += (token.text in "{([") - (token.text in "})]")
        elif depth == 0 and token.kind is Kind.WORD:
            words.append(token.text)
    return words


def _keywords(words: Iterable[str]) -> Iterator[Candidate]:
    return (Candidate(word, CandidateKind.KEYWORD) for word in words)


def _functions(names: Iterable[str]) -> Iterator[Candidate]:
    known = signatures()
    return (Candidate(f"{name}(", CandidateKind.FUNCTION, known.get(name, "")) for name in names)


def _properties(type_: EntityType | None) -> Iterator[Candidate]:
    for name, property_ in type_.properties.items() if type_ else ():
        yield Candidate(name, CandidateKind.PROPERTY, str(property_.type))


def _edge_types(catalog: Catalog) -> Iterator[Candidate]:
    for name, edge in catalog.edges.items():
        yield Candidate(name, CandidateKind.EDGE_TYPE, edge.ends_text)
