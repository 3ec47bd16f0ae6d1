"""Identifiers of namespaces and tables: ``[ref, type]``, and ``[graph, ref, type]`` where several graphs are served.

A ref is a branch, or ``@`` with a commit or a time. Pure: nothing is looked up here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lance_namespace import InvalidInputError

from omnigraph.manifest.layout import MAIN

AT = "@"

DELIMITER = "$"
"""Separates the parts of an identifier that is written as one text. No part of ours contains it."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A moment of a graph: the head of a branch, or a commit or time (``at``)."""

    branch: str | None = MAIN
    at: str | None = None

    def __str__(self) -> str:
        return f"{AT}{self.at}" if self.at is not None else str(self.branch)


@dataclass(frozen=True, slots=True)
class Path:
    """The parts of an identifier. ``graph`` is None where a single graph is served."""

    graph: str | None = None
    ref: Ref | None = None
    table: str | None = None

    def parts(self) -> list[str]:
        """The identifier of the path."""
        ref = None if self.ref is None else str(self.ref)
        return [part for part in (self.graph, ref, self.table) if part is not None]


def parse_ref(text: str) -> Ref:
    """The ref that one part of an identifier names."""
    if text.startswith(AT):
        if text == AT:
            raise InvalidInputError("'@' names no commit; write @<commit>, or the name of a branch")
        return Ref(None, text.removeprefix(AT))
    return Ref(text)


def namespace_path(parts: Sequence[str] | None, *, many: bool) -> Path:
    """The path of a namespace: nothing, a graph where there are several, then a ref."""
    given = list(parts or ())
    graph = given.pop(0) if many and given else None
    ref = parse_ref(given.pop(0)) if given else None
    if given:
        raise InvalidInputError(f"{list(parts or ())} is no namespace; expected {_namespace_shape(many)}")
    return Path(graph, ref)


def table_path(parts: Sequence[str] | None, branch: str | None, *, many: bool) -> Path:
    """The path of a table. ``branch`` is the branch field of a request, which replaces ``main`` of the identifier."""
    given = list(parts or ())
    length = 3 if many else 2
    if len(given) == length - 1 and branch is not None:
        given.insert(length - 2, branch)
    if len(given) != length:
        raise InvalidInputError(f"{list(parts or ())} is no table; expected {_table_shape(many)}")
    ref = parse_ref(given[-2])
    if branch is not None and branch != ref.branch:
        if ref != Ref():
            raise InvalidInputError(f"the table {given} and the branch {branch!r} name two refs; leave one out")
        ref = Ref(branch)
    return Path(given[0] if many else None, ref, given[-1])


def transaction_path(parts: Sequence[str] | None, *, many: bool) -> tuple[Path, str]:
    """The graph and the commit that the identifier of a transaction names."""
    given = list(parts or ())
    if len(given) != (2 if many else 1):
        expected = "[graph, transaction]" if many else "[transaction]"
        raise InvalidInputError(f"{given} is no transaction; expected {expected}, with the transaction_id of a commit")
    return Path(given[0] if many else None), given[-1]


def _namespace_shape(many: bool) -> str:
    return "[], [graph] or [graph, ref]" if many else "[] or [ref]"


def _table_shape(many: bool) -> str:
    return '[graph, ref, type], such as ["kb", "main", "Person"]' if many else '[ref, type], such as ["main", "Person"]'
