"""Planned types as `.pg` text, with every guess in a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omnigraph.ingest.infer.ends import STATED
from omnigraph.ingest.infer.plans import PlannedProperty, PlannedType
from omnigraph.ingest.infer.properties import counted

_HEADER = "// Inferred from data: review the comments, which state every guess, and edit what does not fit."
_PAIRS = "no two edges connect the same nodes; loading a pair again updates its edge"


def schema_text(types: Sequence[PlannedType], remarks: Sequence[str] = ()) -> str:
    """The schema of planned types. It compiles, and it holds the rows that the guesses were made from."""
    head = "\n".join([_HEADER, *(f"// {_line(remark)}" for remark in remarks)])
    return "\n\n".join([head, *(_type_text(type_) for type_ in types)]) + "\n"


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


def _type_text(type_: PlannedType) -> str:
    lines = [f"// from {_line(type_.table.source)}: {counted(type_.table.rows)}"] if type_.table else []
    lines += [f"// {_line(note)}" for note in type_.notes]
    lines += [f"// column {_shown(column)} is left out: no property can hold {held}" for column, held in type_.ignored]
    if type_.id_column is not None and type_.is_edge:
        lines.append(f"// ids of the edges: column {_shown(type_.id_column)}")
    header = f"node {type_.name}"
    if type_.ends is not None:
        source, target = type_.ends
        lines.append(f"// from = column {_shown(source.column)}; {_because(source.reason)}")
        lines.append(f"// to = column {_shown(target.column)}; {_because(target.reason)}")
        header = f"edge {type_.name}: {source.type} -> {target.type}"
    body = [*map(_property_text, type_.properties)]
    if type_.has_unique_pairs:
        body.append(f"  @key(src, dst) // {_because(_PAIRS)}")
    if not body:
        return "\n".join([*lines, header if type_.is_edge else f"{header} {{}}"])
    return "\n".join([*lines, f"{header} {{", *body, "}"])


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
