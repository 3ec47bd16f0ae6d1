"""Names of the tables of a snapshot in SQL, which ignores case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from omnigraph.rows.arrow_types import Entity


def table_names(entities: Iterable[Entity]) -> dict[str, Entity]:
    """A name for every type: its own, or ``node_Name`` and ``edge_Name`` where it is not the only one of that name."""
    ordered = sorted(entities, key=lambda entity: entity.table_key)
    known = Counter(entity.name.lower() for entity in ordered)
    names: dict[str, Entity] = {}
    taken = {name for name, count in known.items() if count == 1}
    for entity in ordered:
        chosen = entity.name
        if known[entity.name.lower()] > 1:
            kind = entity.table_key.partition(":")[0]
            chosen, number = f"{kind}_{entity.name}", 1
            while chosen.lower() in taken:
                number += 1
                chosen = f"{kind}_{entity.name}_{number}"
            taken.add(chosen.lower())
        names[chosen] = entity
    return names
