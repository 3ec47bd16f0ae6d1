"""The manual of functions: a row for every form that an expression can call, for the documentation and for editors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from omnigraph.query.types.rule_kinds import Group, Nulls
from omnigraph.query.types.rules import RULES


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the manual."""

    group: Group
    signature: str
    says: str
    example: tuple[str, str]
    """An expression of literals, and its value as JSON."""
    nulls: Nulls = Nulls.STRICT

    @property
    def name(self) -> str:
        """The word that it is called by; empty for an operator."""
        head, parenthesis, _ = self.signature.partition("(")
        return head if parenthesis and head.isidentifier() else ""


FORMS: Final = (
    Entry(Group.TEXT, "starts_with(text, part)", "also `text starts_with part`", ('starts_with("ab", "a")', "true")),
    Entry(Group.TEXT, "ends_with(text, part)", "also `text ends_with part`", ('"ab" ends_with "b"', "true")),
    Entry(Group.TEXT, "contains(text, part)", "also `text contains part`", ('"abc" contains "b"', "true")),
    Entry(Group.TEXT, "text + text", "the texts joined", ('"a" + "b"', '"ab"')),
    Entry(Group.NUMBER, "mod(x, y)", "the remainder, as `x % y`; null for y = 0", ("mod(-7, 3)", "-1"), Nulls.DOMAIN),
    Entry(
        Group.TIME,
        "date(x)",
        "the day of a DateTime, or of a text",
        ('date(datetime("2024-05-31T12:00:00Z"))', '"2024-05-31"'),
        Nulls.DOMAIN,
    ),
    Entry(
        Group.TIME,
        "datetime(x)",
        "the start of a Date, or the time of a text",
        ('datetime(date("2024-05-31"))', '"2024-05-31T00:00:00.000Z"'),
        Nulls.DOMAIN,
    ),
    Entry(
        Group.TIME,
        "time(x)",
        "the time of day of a DateTime, or of a text",
        ('time("12:30")', '"12:30:00.000"'),
        Nulls.DOMAIN,
    ),
    Entry(
        Group.TEXT,
        "uuid(text)",
        "a Uuid",
        ('uuid("{00000000-0000-0000-0000-00000000000A}")', '"00000000-0000-0000-0000-00000000000a"'),
        Nulls.DOMAIN,
    ),
    Entry(
        Group.NUMBER, 'decimal("12.30")', "a Decimal with the digits that are written", ('decimal("0.10")', '"0.10"')
    ),
    Entry(
        Group.TIME,
        'duration(n, "unit")',
        "a number of units from year to millisecond, to be added to or subtracted from a date",
        ('date("2024-05-31") - duration(2, "week")', '"2024-05-17"'),
    ),
    Entry(Group.TIME, "now()", "the time of the query, one value for all of it", ("now() = now()", "true")),
    Entry(Group.LIST, "contains(list, item)", "also `list contains item` and `item in list`", ("2 in [1, 2]", "true")),
    Entry(
        Group.LIST,
        "any($x in list where predicate)",
        "true if the predicate holds for an item; false for an empty list",
        ("any($x in [1, 2] where $x > 1)", "true"),
        Nulls.OWN,
    ),
    Entry(
        Group.LIST,
        "all($x in list where predicate)",
        "true if the predicate holds for every item; true for an empty list",
        ("all($x in [1, 2] where $x > 1)", "false"),
        Nulls.OWN,
    ),
    Entry(
        Group.CHOICE,
        "if(condition, a, b)",
        "a if the condition is true, otherwise b",
        ("if(1 > 2, 3, 4)", "4"),
        Nulls.OWN,
    ),
    Entry(
        Group.CHOICE,
        "case when condition then a else b end",
        "the value of the first condition that is true; without `else` null",
        ('case when 1 > 2 then "a" when 2 > 1 then "b" end', '"b"'),
        Nulls.OWN,
    ),
    Entry(
        Group.CHOICE,
        "case x when value then a else b end",
        "the same, comparing x with each value",
        ('case 2 when 1 then "a" else "b" end', '"b"'),
        Nulls.OWN,
    ),
    Entry(
        Group.CHOICE,
        "cast(x as Type)",
        "x in another type; null if that type has no such value",
        ('cast("12" as I32)', "12"),
        Nulls.DOMAIN,
    ),
    Entry(Group.CHOICE, "type($x)", "the name of the type of a node or edge", ("type($p)", '"Person"')),
    Entry(Group.CHOICE, "id($x)", "the id of a node or edge, as a text", ("id($p)", '"Ann"')),
)
"""Entries without a row in ``RULES``: forms with a syntax of their own, and operators by name."""


def entries() -> Iterator[Entry]:
    """Every row, by group, those of the table first."""
    rows = [
        *(Entry(rule.group, rule.signature, rule.says, rule.example, rule.nulls) for rule in RULES.values()),
        *FORMS,
    ]
    for group in Group:
        yield from (row for row in rows if row.group is group)


def signatures() -> dict[str, str]:
    """The first signature of every function by its name."""
    found: dict[str, str] = {}
    for row in entries():
        if row.name:
            found.setdefault(row.name, row.signature)
    return found
