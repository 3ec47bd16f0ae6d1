"""Changes of one small graph whose edge types have bounds, and what ``@card`` says of each, however it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.promises.protocol.graphs import edge, person

UNBOUNDED = """
node Person { name: String @key }
node Thing { name: String @key }
edge Owns: Person -> Thing
edge Needs: Person -> Thing
"""
SCHEMA = UNBOUNDED.replace("Owns: Person -> Thing", "Owns: Person -> Thing @card(1..2)").replace(
    "Needs: Person -> Thing", "Needs: Person -> Thing @card(2..3)"
)

PEOPLE = ("ann", "bob", "cat", "dan", "zed")
THINGS = ("a", "b", "c", "d", "e", "f", "g")
EDGES = {
    "o1": ("Owns", "ann", "a"),
    "o2": ("Owns", "bob", "b"),
    "o3": ("Owns", "bob", "c"),
    "n1": ("Needs", "cat", "d"),
    "n2": ("Needs", "cat", "e"),
    # No change touches these, so that an overwrite always has rows of both types.
    "z1": ("Owns", "zed", "f"),
    "z2": ("Needs", "zed", "f"),
    "z3": ("Needs", "zed", "g"),
}


@dataclass(frozen=True)
class Case:
    """A change of the graph above, and the sources that it leaves with too few or too many edges."""

    name: str
    put: tuple[tuple[str, str, str, str], ...] = ()
    """Edges that are added or moved: id, type, source and target. An id may be given twice; the last one counts."""
    removed: tuple[str, ...] = ()
    new_people: tuple[str, ...] = ()
    gone_people: tuple[str, ...] = ()
    gone_things: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def only_puts(self) -> bool:
        return not (self.removed or self.gone_people or self.gone_things)

    @property
    def only_adds(self) -> bool:
        ids = [put[0] for put in self.put]
        return self.only_puts and len(set(ids)) == len(ids) and not EDGES.keys() & ids

    @property
    def only_edges(self) -> bool:
        return not (self.new_people or self.gone_people or self.gone_things)

    def rows_put(self) -> list[dict[str, Any]]:
        """The records of a load that adds and moves."""
        return [*map(person, self.new_people), *(edge(type_, *ends, id_) for id_, type_, *ends in self.put)]

    def edges_after(self) -> dict[str, tuple[str, str, str]]:
        """The edges of the graph after the change, by id."""
        after = EDGES | {id_: (type_, source, target) for id_, type_, source, target in self.put}
        return {
            id_: item
            for id_, item in after.items()
            if id_ not in self.removed and item[1] not in self.gone_people and item[2] not in self.gone_things
        }

    def edge_rows_after(self) -> list[dict[str, Any]]:
        return [edge(type_, *ends, id_) for id_, (type_, *ends) in self.edges_after().items()]

    def rows_after(self) -> list[dict[str, Any]]:
        """The whole graph after the change."""
        people = [name for name in (*PEOPLE, *self.new_people) if name not in self.gone_people]
        things = [name for name in THINGS if name not in self.gone_things]
        nodes = [*map(person, people), *({"type": "Thing", "data": {"name": name}} for name in things)]
        return [*nodes, *self.edge_rows_after()]

    def statements(self) -> str:
        """The change as a mutation. It cannot move an edge, so it deletes it and inserts another one."""
        return " ".join(self._statements())

    def _statements(self) -> Iterator[str]:
        moved = [put[0] for put in self.put if put[0] in EDGES]
        for id_ in (*self.removed, *moved):
            type_, _, target = EDGES[id_]
            yield f'delete {type_} where to = "{target}"'
        for kind, names in (("Person", self.gone_people), ("Thing", self.gone_things)):
            for name in names:
                yield f'delete {kind} where name = "{name}"'
        for name in self.new_people:
            yield f'insert Person {{name: "{name}"}}'
        for _, type_, source, target in {put[0]: put for put in self.put}.values():
            yield f'insert {type_} {{from: "{source}", to: "{target}"}}'


def broken(type_: str, source: str, count: int, bound: str) -> tuple[str, ...]:
    """The one message of a case."""
    return (f"@card violation on edge {type_}: source '{source}' has {count} edges ({bound})",)


BASE = Case("base")
CASES = [
    Case("add above the maximum", put=(("o4", "Owns", "bob", "a"),), broken=broken("Owns", "bob", 3, "max 2")),
    Case("add below the minimum", put=(("n3", "Needs", "dan", "a"),), broken=broken("Needs", "dan", 1, "min 2")),
    Case("remove the last", removed=("o1",), broken=broken("Owns", "ann", 0, "min 1")),
    Case("remove one of two", removed=("n1",), broken=broken("Needs", "cat", 1, "min 2")),
    Case("remove both of two", removed=("n1", "n2"), broken=broken("Needs", "cat", 0, "min 2")),
    Case("remove one above the minimum", removed=("o2",)),
    Case("remove the last and add another", removed=("o1",), put=(("o4", "Owns", "ann", "b"),)),
    Case("move the last away", put=(("o1", "Owns", "dan", "a"),), broken=broken("Owns", "ann", 0, "min 1")),
    Case("move one above the minimum away", put=(("o2", "Owns", "dan", "b"),)),
    Case(
        "move both of two away",
        put=(("n1", "Needs", "dan", "d"), ("n2", "Needs", "dan", "e")),
        broken=broken("Needs", "cat", 0, "min 2"),
    ),
    Case("move the last to another target", put=(("o1", "Owns", "ann", "g"),)),
    Case("delete the last target", gone_things=("a",), broken=broken("Owns", "ann", 0, "min 1")),
    Case("delete both of two targets", gone_things=("d", "e"), broken=broken("Needs", "cat", 0, "min 2")),
    Case("delete a target above the minimum", gone_things=("b",)),
    Case("delete the source", gone_people=("ann", "cat")),
    Case("delete the source and its target", gone_people=("ann",), gone_things=("a",)),
    Case("give a new id twice", put=(("o4", "Owns", "ann", "b"), ("o4", "Owns", "ann", "b"))),
    Case("give an edge twice, first moved", put=(("o1", "Owns", "dan", "a"), ("o1", "Owns", "ann", "a"))),
    Case("add a node without edges", new_people=("eve",)),
]
