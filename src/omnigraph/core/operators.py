"""Operators, quantifiers and aggregate functions of queries: shared by the parser, the IR and both executors.

They live below ``lang`` so that an executor needs the IR only, never the syntax tree.
"""

from __future__ import annotations

from enum import Enum


class BinaryOperator(Enum):
    """Operators between two expressions; the value is the spelling in a query."""

    OR = "or"
    AND = "and"
    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"
    IN = "in"
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"


class Quantifier(Enum):
    """Tests of the items of a list; the value is the spelling in a query."""

    ANY = "any"
    ALL = "all"


class AggregateFunction(Enum):
    """Aggregate functions; the value is the spelling in a query."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    COLLECT = "collect"
    STDDEV = "stddev"
    PERCENTILE = "percentile"
    FIRST = "first"
    LAST = "last"
