"""The schema of a graph as a text that displays itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from omnigraph.core.display import html_text
from omnigraph.schema.catalog import Catalog, PropertyOrder, all_types


class SchemaText(str):
    """A schema text as it was written. ``types`` holds the properties and their types by the name of the type.

    A name that a node type and an edge type share is spelled ``node:Name`` and ``edge:Name`` there.
    """

    __slots__ = ("types",)
    types: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, text: str, catalog: Catalog, order: PropertyOrder) -> Self:
        """The text of a catalog, with the declared order of its properties."""
        schema = cls(text)
        shared = set(catalog.nodes) & set(catalog.edges)
        schema.types = {
            item.table_key if item.name in shared else item.name: {
                name: str(item.properties[name].type)
                for name in dict.fromkeys([*order.get(item.table_key, ()), *item.properties])
                if name in item.properties
            }
            for item in all_types(catalog)
        }
        return schema

    @property
    def text(self) -> str:
        """The text itself, as an inferred schema has it."""
        return str(self)

    def __repr__(self) -> str:
        # At a prompt the text reads better than its quoted form with escaped line ends.
        return str(self).rstrip()

    def _repr_html_(self) -> str:
        return html_text(str(self))
