"""Edits of a ``.pg`` text: declarations and properties added, declarations removed. The rest stays as written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from omnigraph.lang.diagnostics import raise_errors
from omnigraph.lang.pg_ast import EdgeDecl, NodeDecl
from omnigraph.lang.pg_parser import ParsedSchema

Edit = tuple[int, int, str]
"""A part of the text, from and to, and its replacement."""


def declared_types(parsed: ParsedSchema) -> dict[str, NodeDecl | EdgeDecl]:
    """The node and edge types of a text by table key, such as ``node:Person``."""
    return {
        f"{'node' if isinstance(item, NodeDecl) else 'edge'}:{item.name.text}": item
        for item in parsed.file.declarations
        if isinstance(item, (NodeDecl, EdgeDecl))
    }


def edited(
    parsed: ParsedSchema,
    *,
    declared: Sequence[str] = (),
    dropped: Collection[str] = (),
    properties: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The text with more declarations, without some types, and with more properties (``age: I64?``) in others.

    Types are given by table key. Raises CompileError if the text has syntax errors.
    """
    raise_errors(parsed.diagnostics)
    text = parsed.source.text
    types = declared_types(parsed)
    edits: list[Edit] = [(*_with_line_end(text, types[key]), "") for key in dropped]
    edits += [_added(text, types[key], lines) for key, lines in (properties or {}).items()]
    # From the end on: the places of earlier edits stay valid.
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return "\n\n".join([text.rstrip("\n"), *(item.strip() for item in declared)]).lstrip("\n") + "\n"


def _with_line_end(text: str, declaration: NodeDecl | EdgeDecl) -> tuple[int, int]:
    end = declaration.span.end
    return declaration.span.start, end + 1 if text[end : end + 1] == "\n" else end


def _added(text: str, declaration: NodeDecl | EdgeDecl, lines: Sequence[str]) -> Edit:
    end = declaration.span.end
    if text[end - 1] != "}":
        # An edge type without a body.
        return end, end, f" {{ {' '.join(lines)} }}"
    brace = end - 1
    line_start = text.rfind("\n", 0, brace) + 1
    if not text[line_start:brace].strip() and line_start:
        return line_start, line_start, "".join(_indented(text[line_start:brace], lines))
    blank = "" if text[brace - 1].isspace() else " "
    return brace, brace, f"{blank}{' '.join(lines)} "


def _indented(indent: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{indent}  {line}\n"
