"""Diagnostic codes of the query checker and linter, each with a one-line meaning.

T1 to T24 and the lint codes follow the reference implementation; T0 covers errors it has no code for, T25 to T29
clauses and functions it does not have. ``docs/user/queries.md`` explains each.
"""

from __future__ import annotations

from typing import Final

CODES: Final[dict[str, str]] = {
    "T0": "a mistake without a code of its own: an unbound variable, a bad alias, a mixed list, a reserved name",
    "T1": "a binding names an unknown node type",
    "T2": "a property in the braces of a binding does not exist",
    "T3": "a literal does not fit its property",
    "T4": "a traversal names an unknown edge",
    "T5": "the type of a traversal's endpoint is not an end of the edge",
    "T6": "`$v.p`: the variable is not bound, or has no such property",
    "T7": "operands that an operator does not take, or a parameter that does not fit its property",
    "T8": "an aggregate over values it does not take",
    "T9": "a `not` block about nothing outside of it, or an aggregate query ordered by what it does not return",
    "T10": "a mutation names an unknown type, or an insert assigns nothing",
    "T11": "a mutation names a property that does not exist, or computes with a Blob or with a new entity",
    "T12": "an insert leaves out a required property or endpoint, or an upsert has no key",
    "T13": "a property is assigned twice",
    "T14": "a variable of a mutation is neither a declared parameter nor bound by its match",
    "T15": "wrong hop bounds, or `nearest` with wrong arguments",
    "T16": "an update of the end of an edge",
    "T17": "an order by `nearest` without a limit",
    "T18": "an order by `nearest` together with an order by alias",
    "T19": "`search` or `fuzzy` with wrong arguments",
    "T20": "`match_text` or `bm25` with wrong arguments",
    "T21": "`rrf` with wrong arguments or, in an order, without a limit",
    "T22": "an undirected traversal of an edge between two types",
    "T23": "an edge variable where it cannot stand, or bound over several hops",
    "T24": "a Blob read as a value",
    "T25": "an update of a key property",
    "T26": "a `maybe` block that changes nothing, or a variable of one where null cannot stand",
    "T27": "`shortest` between nodes that are not bound, or a path where it cannot stand",
    "T28": "`distinct` rows ordered by something that is not returned",
    "T29": "a function with arguments it does not take, or values without a common type",
    "T30": "a stage reads what the former one does not return, or returns a column that later ones cannot name",
    "L201": "a nullable property that no update in the file ever sets, of a type that the file updates",
    "L202": "a query whose name an earlier query of the file has",
    "Q000": "the file does not parse",
}
