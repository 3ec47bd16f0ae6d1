"""The rows of a former stage as a later one sees them: entities to match on, values to read, names that are gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.query.ir import Column, Operator, Stage, StageEntity, StageValue
from omnigraph.query.rewrite.renaming import Renaming
from omnigraph.schema.types import PropertyType

COLUMN_MARK = "#"
"""Joins the two parts of the name of a column that was returned as ``$p.name``; the grammar does not allow it."""


@dataclass(frozen=True, slots=True)
class ReturnedEntity:
    """A node or edge among the columns of a stage: its possible types, and the place of the column that tells which.

    ``properties`` are those that can be read if the variable is bound to an interface or has several types.
    """

    variable: str
    is_edge: bool
    types: tuple[str, ...]
    type_place: int | None = None
    properties: frozenset[str] | None = None


def merged(entities: Sequence[ReturnedEntity]) -> ReturnedEntity | None:
    """The entity of a column that several patterns fill; None if no column holds its type."""
    first = entities[0]
    types = tuple(dict.fromkeys(type_ for entity in entities for type_ in entity.types))
    if any(entity.is_edge != first.is_edge or entity.type_place != first.type_place for entity in entities):
        return None
    if len(types) > 1 and first.type_place is None:
        return None
    known = [entity.properties for entity in entities if entity.properties is not None]
    return replace(first, types=types, properties=frozenset.intersection(*known) if known else None)


@dataclass(frozen=True, slots=True)
class Planned:
    """The operators and columns of a read; its entities by the places of their ids, and the names of its variables."""

    root: Operator
    columns: tuple[Column, ...]
    entities: Mapping[int, ReturnedEntity] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def renamed(self, suffix: str) -> Planned:
        """The same with other names for all variables of the operators."""
        renaming = Renaming(suffix, deep=True)
        return replace(self, root=renaming.operator(self.root), columns=renaming.columns(self.columns))


@dataclass(frozen=True, slots=True)
class FormerEntity:
    """An entity of the former stage, by the name of its variable in the later one."""

    name: str
    place: int
    entity: ReturnedEntity
    optional: bool


@dataclass(frozen=True, slots=True)
class FormerValue:
    """A value of the former stage; ``name`` is that of its variable, or joins the two parts of ``$p.name``."""

    name: str
    place: int
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Former:
    """The former stage of a read."""

    planned: Planned
    entities: tuple[FormerEntity, ...]
    values: tuple[FormerValue, ...]
    gone: frozenset[str]
    """Variables of the former stage that it does not return: their names stay taken, and nothing can read them."""

    @property
    def names(self) -> frozenset[str]:
        """The variables that the later stage sees."""
        return frozenset(item.name for item in self.entities).union(item.name for item in self.values)

    @property
    def varies(self) -> bool:
        """True if an entity has several types, or is bound to an interface."""
        return any(len(item.entity.types) > 1 or item.entity.properties is not None for item in self.entities)

    def choices(self) -> Iterator[Mapping[str, str]]:
        """Every choice of types for the entities."""
        names = [item.name for item in self.entities]
        for types in product(*(item.entity.types for item in self.entities)):
            yield dict(zip(names, types, strict=True))

    def narrowed(self, types: Mapping[str, str]) -> Former:
        """The rows whose entities have these types."""
        entities = tuple(
            replace(item, entity=replace(item.entity, types=(types[item.name],))) for item in self.entities
        )
        return replace(self, entities=entities)

    def operator(self, whole: Former) -> Stage:
        """The rows as bound rows. Of an entity with several types in ``whole``, those of its type here are kept."""
        entities = tuple(
            StageEntity(
                item.name,
                item.entity.is_edge,
                item.entity.types[0],
                item.place,
                item.entity.type_place if len(same.entity.types) > 1 else None,
            )
            for item, same in zip(self.entities, whole.entities, strict=True)
        )
        values = tuple(StageValue(item.name, item.place) for item in self.values)
        return Stage(self.planned.root, self.planned.columns, entities, values)
