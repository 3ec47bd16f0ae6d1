"""Planned types as `.pg` text, with every guess in a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omnigraph.ingest.infer.ends import STATED
from omnigraph.ingest.infer.planned.joined import declared_properties
from omnigraph.ingest.infer.planned.types import PlannedProperty, PlannedType
from omnigraph.ingest.infer.properties import counted

_HEADER = "// Inferred from data: review the comments, which state every guess, and edit what does not fit."
_PAIRS = "no two edges connect the same nodes; loading a pair again updates its edge"


def schema_text(types: Sequence[PlannedType], remarks: Sequence[str] = ()) -> str:
    """The schema of planned types. It compiles, and it holds the rows that the guesses were made from."""
    head = "\n".join([_HEADER, *(f"// {_line(remark)}" for remark in remarks)])
    groups: dict[tuple[bool, str], list[PlannedType]] = {}
    for type_ in types:
        groups.setdefault((type_.is_edge, type_.name), []).append(type_)
    return "\n\n".join([head, *map(_declaration, groups.values())]) + "\n"


def guesses(type_: PlannedType) -> Iterator[str]:
    """The guesses about one type, a line each, for people who do not read the schema."""
    if type_.ends is not None:
        for end, side in zip(type_.ends, ("from", "to"), strict=True):
            yield f"{side} = column {end.column}: {end.reason}"
    if type_.has_unique_pairs:
        yield f"key = both ends: {_PAIRS}"
    for item in type_.properties:
        if item.is_key:
            yield f"key = {_origin(item)}: {item.guess.reason}"
    yield from type_.notes
    for column, held in type_.ignored:
        yield f"column {column} is left out: no property can hold {held}"


def _declaration(same: Sequence[PlannedType]) -> str:
    """One type; an edge type may have several tables, each with its own ends."""
    comments = [line for type_ in same for line in _comments(type_)]
    ends = ", ".join(dict.fromkeys(f"{type_.ends[0].type} -> {type_.ends[1].type}" for type_ in same if type_.ends))
    header = f"edge {same[0].name}: {ends}" if ends else f"node {same[0].name}"
    body = [*map(_property_text, declared_properties(same))]
    if same[0].has_unique_pairs:
        body.append(f"  @key(src, dst) // {_because(_PAIRS)}")
    if not body:
        return "\n".join([*comments, header if ends else f"{header} {{}}"])
    return "\n".join([*comments, f"{header} {{", *body, "}"])


def _comments(type_: PlannedType) -> list[str]:
    lines = [f"// from {_line(type_.table.source)}: {counted(type_.table.rows)}"] if type_.table else []
    lines += [f"// {_line(note)}" for note in type_.notes]
    lines += [f"// column {_shown(column)} is left out: no property can hold {held}" for column, held in type_.ignored]
    if type_.id_column is not None and type_.is_edge:
        lines.append(f"// ids of the edges: column {_shown(type_.id_column)}")
    if type_.ends is not None:
        source, target = type_.ends
        lines.append(f"// from = column {_shown(source.column)}; {_because(source.reason)}")
        lines.append(f"// to = column {_shown(target.column)}; {_because(target.reason)}")
    return lines


def _property_text(item: PlannedProperty) -> str:
    key = " @key" if item.is_key else ""
    column = "" if item.name == item.column else f"column {_shown(item.column)}; "
    return f"  {item.name}: {item.guess.type}{key} // {column}{_because(item.guess.reason)}"


def _because(reason: str) -> str:
    return reason if reason.endswith(STATED) else f"guessed: {reason}"


def _origin(item: PlannedProperty) -> str:
    return item.name if item.name == item.column else f"{item.name} (column {item.column})"


def _shown(name: str) -> str:
    return _line(f'"{name}"')


def _line(text: str) -> str:
    """A text that stays in its line, and in its comment."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
