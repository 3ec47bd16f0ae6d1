"""Scopes of the query checker: parameters, bound variables, and the diagnostics sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from itertools import count

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.suggestions import did_you_mean
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.lang.source import Span
from omnigraph.query.expressions import Expr
from omnigraph.query.pattern import MarkedBlock
from omnigraph.query.stages.former import Former
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.schema.types import PropertyType

UNCODED = "T0"
"""The code of errors for which the reference implementation has none."""

ANONYMOUS = "_#"
"""Prefix of the names of anonymous variables; the grammar does not allow it in a query."""


_LISTED_NAMES_MAX = 10
"""Names that a hint lists where none is similar."""


class VariableKind(Enum):
    """The kinds of variables."""

    NODE = "node"
    EDGE = "edge"
    PATH = "path"
    VALUE = "value"
    COLUMN = "column"
    """A value that a former stage returns."""
    GONE = "variable of the former stage"
    """One that a former stage does not return."""


@dataclass(frozen=True, slots=True)
class BoundVariable:
    """A variable of a match block. ``optional`` ones may be null: a ``maybe`` block bound them."""

    name: str
    kind: VariableKind
    type_name: str
    optional: bool = False
    type: PropertyType | None = None
    """The type of a value: an item of a list."""


def _refuse_exists(context: Context, scope: Scope, node: ast.Exists) -> Expr | None:
    context.error(UNCODED, "`exists` needs a pattern around it and cannot stand here", node.span)
    return None


@dataclass(frozen=True, slots=True)
class Context:
    """The state shared by the checks of one query."""

    catalog: Catalog
    parameters: dict[str, PropertyType]
    diagnostics: Diagnostics
    interfaces: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The properties of variables that are bound to an interface."""
    former: Former | None = None
    """The stage before the read, whose rows it starts from."""
    is_former: bool = False
    """The rows of the read go to another stage: an entity is its id, and the type if there are several."""
    check_exists: Callable[[Context, Scope, ast.Exists], Expr | None] = _refuse_exists
    """The check of a block inside an expression. Blocks are made of expressions, so it is given from above."""
    _anonymous: Iterator[int] = field(default_factory=lambda: count(1))

    def fresh_name(self) -> str:
        """A name for an anonymous variable."""
        return f"{ANONYMOUS}{next(self._anonymous)}"

    def error(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self.diagnostics.error(code, message, span, hint)

    def suggest(self, wrong: str, names: Iterable[str]) -> str | None:
        """A hint with the most similar name; None once diagnostics are full, because comparing names is slow."""
        return None if self.diagnostics.is_full else did_you_mean(wrong, names)

    def suggest_or_list(self, wrong: str, names: Iterable[str]) -> str | None:
        """A hint with the most similar name, otherwise with all of them; None if there are none."""
        known = [*names]
        shown = ", ".join(f"`{name}`" for name in known[:_LISTED_NAMES_MAX])
        more = f" and {len(known) - _LISTED_NAMES_MAX} more" if len(known) > _LISTED_NAMES_MAX else ""
        return self.suggest(wrong, known) or (f"known: {shown}{more}" if known else None)

    def suggest_variable(self, wrong: str, names: Iterable[str]) -> str | None:
        """The same for variables, written with a dollar sign; anonymous ones are never suggested."""
        hint = self.suggest(wrong, (name for name in names if not name.startswith(ANONYMOUS)))
        return hint.replace("`", "`$", 1) if hint else None

    def suggest_parameter(self, wrong: str) -> str:
        """A hint with the most similar parameter, or how a query declares one."""
        declared = f"parameters are declared in a header: `query name(${wrong}: Type) {{ ... }}`"
        return self.suggest_variable(wrong, self.parameters) or declared


@dataclass(slots=True)
class Scope:
    """The variables of a block; those of the enclosing blocks are seen through ``outer``."""

    outer: Scope | None = None
    variables: dict[str, BoundVariable] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    """Variables whose binding was reported as wrong: their uses are not reported again."""
    marked: dict[ast.Exists, MarkedBlock] = field(default_factory=dict)
    """The ``exists`` blocks of expressions over the matches of this scope."""
    has_matches: bool = True
    """False for a scope that only names values, such as the item of a quantifier: its matches are those around it."""

    def is_broken(self, name: str) -> bool:
        return name in self.broken or (self.outer is not None and self.outer.is_broken(name))

    def lookup(self, name: str) -> BoundVariable | None:
        found = self.variables.get(name)
        if found is None and self.outer is not None and name not in self.broken:
            return self.outer.lookup(name)
        return found

    def is_outer(self, name: str) -> bool:
        return name not in self.variables and self.lookup(name) is not None

    def bind(self, variable: BoundVariable) -> None:
        self.variables[variable.name] = variable

    @property
    def of_matches(self) -> Scope:
        """This scope, or the one around it whose matches it sees."""
        return self if self.has_matches or self.outer is None else self.outer.of_matches

    def names(self) -> Iterable[str]:
        yield from (name for name, variable in self.variables.items() if variable.kind is not VariableKind.GONE)
        if self.outer is not None:
            yield from self.outer.names()


def entity_type(catalog: Catalog, variable: BoundVariable) -> NodeType | EdgeType:
    """The declared type of a node or edge variable."""
    if variable.kind is VariableKind.EDGE:
        return catalog.edges[variable.type_name]
    return catalog.nodes[variable.type_name]


def former_scope(former: Former | None) -> Scope | None:
    """The variables that a read sees of its former stage."""
    if former is None:
        return None
    scope = Scope()
    for name in former.gone:
        scope.bind(BoundVariable(name, VariableKind.GONE, ""))
    for item in former.entities:
        kind = VariableKind.EDGE if item.entity.is_edge else VariableKind.NODE
        scope.bind(BoundVariable(item.name, kind, item.entity.types[0], item.optional))
    for value in former.values:
        scope.bind(BoundVariable(value.name, VariableKind.COLUMN, "", type=value.type))
    return scope


def report_gone(context: Context, bound: BoundVariable | None, span: Span) -> bool:
    """T30: report a variable that the former stage does not return."""
    if bound is None or bound.kind is not VariableKind.GONE:
        return False
    message = f"the former stage does not return `${bound.name}`"
    context.error("T30", message, span, f"return `${bound.name}` there, or choose another name here")
    return True


def kind_code(kind: VariableKind) -> str:
    """The code of an error about a variable that cannot stand where it does because of its kind."""
    return {VariableKind.EDGE: "T23", VariableKind.PATH: "T27"}.get(kind, "T30")


def suggest_variable(context: Context, scope: Scope, name: str) -> str | None:
    """A hint for an unbound variable."""
    if name == "_":
        return "`$_` is anonymous: give the variable a name to use it"
    return context.suggest_variable(name, [*scope.names(), *context.parameters])


def described_kind(kind: VariableKind) -> str:
    """A kind with its article, for messages."""
    return "an edge" if kind is VariableKind.EDGE else f"a {kind.value}"


def as_edge_word(type_name: str) -> str:
    """The spelling of an edge type in a traversal: first letter in lower case."""
    return type_name[:1].lower() + type_name[1:]
