"""The types of one kind with their views: ``graph.nodes()`` and ``graph.edges()`` without a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from omnigraph.core.display import Display, Displayed, counted
from omnigraph.engine.views.source import ViewSource
from omnigraph.engine.views.view import EntityView
from omnigraph.errors import NotFoundError
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import type_named


@dataclass(frozen=True, repr=False)
class TypeViews(Mapping[str, EntityView], Displayed):
    """Views by the name of the type. ``len`` is the number of types."""

    snapshot: ViewSource
    kind: str

    def __getitem__(self, name: str) -> EntityView:
        other, article = ("edge", "an") if self.kind == "node" else ("node", "a")
        if name not in self and name in TypeViews(self.snapshot, other):
            message = f"{name!r} is {article} {other} type"
            raise NotFoundError(message, hint=f'read it with {other}s("{name}")', type=name)
        return EntityView(self.snapshot, type_named(self._types(), name, f"{self.kind} type"))

    def __iter__(self) -> Iterator[str]:
        return (entity.name for entity in self._types())

    def __len__(self) -> int:
        return len(self._types())

    def __contains__(self, name: object) -> bool:
        return any(entity.name == name for entity in self._types())

    def _types(self) -> list[Entity]:
        return [item for item in self.snapshot.entities() if item.table_key.startswith(f"{self.kind}:")]

    def _display(self) -> Display:
        order = self.snapshot.column_order
        rows = [(item.name, self._count(item), ", ".join(order(item))) for item in self._types()]
        return Display(counted(len(rows), f"{self.kind} type"), ("type", f"{self.kind}s", "columns"), rows)

    def _count(self, entity: Entity) -> int:
        return len(self[entity.name])


def views(snapshot: ViewSource, kind: str, type_name: str | None) -> TypeViews | EntityView:
    """The view of one type, or of every type of a kind."""
    found = TypeViews(snapshot, kind)
    return found if type_name is None else found[type_name]
