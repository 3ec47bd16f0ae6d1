"""Matching of paths: raw segments against templates, fixed segments before parameters.

A path is cut before it is decoded, so an encoded slash (``%2F``) belongs to its segment. That is how the name of a
branch with a slash reaches a route.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar
from urllib.parse import unquote_to_bytes

from omnigraph.server.http.refusals import Rejection

Row = TypeVar("Row")

KNOWN_MAX: Final = 1_024
"""Matches that are kept."""
KNOWN_CHARS_MAX: Final = 256
"""Characters of a path whose match is kept."""


@dataclass(slots=True)
class _Node(Generic[Row]):
    fixed: dict[str, _Node[Row]] = field(default_factory=dict)
    parameter: _Node[Row] | None = None
    rows: dict[str, tuple[Row, tuple[str, ...]]] = field(default_factory=dict)
    """The row of each method, and the names of the parameters on the way to it."""


@dataclass(frozen=True, slots=True)
class Match(Generic[Row]):
    """A row of the table, and the parameters of the path."""

    row: Row
    parameters: Mapping[str, str]
    is_head: bool = False
    """A HEAD request that is answered like the GET of its path."""


class PathTable(Generic[Row]):
    """Rows by method and path template such as ``/graphs/{graph_id}/query``."""

    def __init__(self, rows: Iterable[tuple[str, str, Row]]) -> None:
        self._root: _Node[Row] = _Node()
        self._known: dict[tuple[str, str], Match[Row]] = {}
        for method, template, row in rows:
            self._add(method, template, row)

    def _add(self, method: str, template: str, row: Row) -> None:
        node, names = self._root, []
        for segment in template.strip("/").split("/"):
            if segment.startswith("{"):
                names.append(segment.strip("{}"))
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.fixed.setdefault(segment, _Node())
        assert method not in node.rows, f"{method} {template} is declared twice"
        node.rows[method] = (row, tuple(names))

    def match(self, method: str, raw_path: str) -> Match[Row]:
        """The row of a request; raises Rejection 404 for an unknown path and 405 for another method."""
        key = (method, raw_path)
        known = self._known.get(key)
        if known is None:
            known = self._match(method, raw_path)
            # Names of branches and entities are in paths, so the table is dropped whenever it is full.
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            if len(raw_path) <= KNOWN_CHARS_MAX:
                self._known[key] = known
        return known

    def _match(self, method: str, raw_path: str) -> Match[Row]:
        segments = raw_path[1:].split("/") if raw_path.startswith("/") else []
        found = _find(self._root, segments, 0)
        if found is None:
            raise Rejection(404)
        node, values = found
        wanted = "GET" if method == "HEAD" and "HEAD" not in node.rows else method
        if wanted not in node.rows:
            raise Rejection(405, headers={"allow": ",".join(_allowed(node))})
        row, names = node.rows[wanted]
        parameters = {name: _decoded(name, value) for name, value in zip(names, values, strict=True)}
        return Match(row, parameters, is_head=method == "HEAD" and wanted == "GET")


def _find(node: _Node[Row], segments: list[str], at: int) -> tuple[_Node[Row], list[str]] | None:
    if at == len(segments):
        return (node, []) if node.rows else None
    segment = segments[at]
    below = node.fixed.get(segment)
    found = None if below is None else _find(below, segments, at + 1)
    if found is None and node.parameter is not None and segment:
        found = _find(node.parameter, segments, at + 1)
        return None if found is None else (found[0], [segment, *found[1]])
    return found


def _allowed(node: _Node[Row]) -> list[str]:
    return [name for method in node.rows for name in ((method, "HEAD") if _is_plain_get(method, node) else (method,))]


def _is_plain_get(method: str, node: _Node[Row]) -> bool:
    return method == "GET" and "HEAD" not in node.rows


def _decoded(name: str, value: str) -> str:
    try:
        return unquote_to_bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        raise Rejection(400, f"Invalid URL: Invalid UTF-8 in `{name}`") from None
