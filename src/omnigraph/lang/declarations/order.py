"""The order in which a schema text declares the properties of its types.

The accepted schema sorts properties by name, because it is stored and hashed; displays, views and exports follow the
text. Properties of interfaces precede those of the type, in the order of ``implements``.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.lang.pg_ast import EdgeDecl, InterfaceDecl, NodeDecl, PropertyDecl
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source


def declared_order(text: str) -> Mapping[str, tuple[str, ...]]:
    """The names of the properties of every type by table key, such as ``node:Person``, in the order of the text."""
    declarations = parse_schema(Source(text, "<schema>")).file.declarations
    shared = {item.name.text: _names(item.properties) for item in declarations if isinstance(item, InterfaceDecl)}
    found: dict[str, tuple[str, ...]] = {}
    for item in declarations:
        match item:
            case NodeDecl():
                injected = [name for interface in item.implements for name in shared.get(interface.text, ())]
                found[f"node:{item.name.text}"] = tuple(dict.fromkeys([*injected, *_names(item.body)]))
            case EdgeDecl():
                found[f"edge:{item.name.text}"] = _names(item.body)
    return found


def _names(body: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(item.name.text for item in body if isinstance(item, PropertyDecl))
