"""Graphs as ``HeteroData`` of PyTorch Geometric: features, edge indices, and maps between ids and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.scalars import Scalar
from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.interop.parts import GraphParts
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import types_named
from omnigraph.schema.types import PropertyType

Features = Sequence[str] | Mapping[str, Sequence[str]] | None
"""Properties by type, or properties that every type gives if it has them; None for all numbers and vectors."""

Floats = npt.NDArray[np.float32]


class NodeIndex:
    """Ids of a node type by position (``ids``), and positions by id (``index["ann"]``).

    It is neither list nor dict: ``HeteroData`` would print every entry, and cut lists when it takes a subgraph.
    """

    def __init__(self, ids: list[str]) -> None:
        self.ids = ids
        self._positions = {id_: position for position, id_ in enumerate(ids)}

    def __getitem__(self, id_: str) -> int:
        if id_ not in self._positions:
            raise NotFoundError(f"there is no node {id_!r}", id=id_)
        return self._positions[id_]

    def __contains__(self, id_: object) -> bool:
        return id_ in self._positions

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<index of {len(self):,} ids>"


def to_pyg(parts: GraphParts, features: Features = None, missing: float = float("nan")) -> Any:
    """Node types have ``x`` and ``index``, which maps positions to ids and back; edge types have ``edge_index``.

    ``x`` and ``edge_attr`` hold numbers, truth values and vectors side by side, and ``feature_names`` their names by
    type; null becomes ``missing``.
    """
    torch, hetero_data = _libraries()
    types: list[Entity] = [*parts.chosen.nodes, *parts.chosen.edges]
    chosen = _chosen(types, parts, features)
    data = hetero_data()
    data.commit = parts.snapshot.commit_id
    # Not beside the features: transforms take a list as long as the edges for an attribute of the edges.
    data.feature_names = {}
    for node, table in zip(parts.chosen.nodes, parts.nodes, strict=True):
        store = data[node.name]
        store.num_nodes = table.num_rows
        store.index = NodeIndex(table.column("id").to_pylist())
        if names := chosen[node.table_key]:
            values, data.feature_names[node.name] = _features(table, names, missing)
            store.x = torch.from_numpy(values)
    for number, (edge, table) in enumerate(zip(parts.chosen.edges, parts.edges, strict=True)):
        source, target = parts.chosen.pairs[number]
        store = data[source, edge.name, target]
        store.edge_index = torch.from_numpy(np.stack(parts.local_ends(number)))
        if names := chosen[edge.table_key]:
            values, data.feature_names[edge.name] = _features(table, names, missing)
            store.edge_attr = torch.from_numpy(values)
    return data


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        from torch_geometric.data import HeteroData
    except ImportError as error:
        raise UsageError(
            "this needs PyTorch Geometric, which is not installed", hint="pip install torch torch_geometric"
        ) from error
    return torch, HeteroData


def _chosen(types: Sequence[Entity], parts: GraphParts, features: Features) -> dict[str, list[str]]:
    """The properties of each type that become features."""
    order = {item.table_key: parts.snapshot.column_order(item) for item in types}
    usable = {item.table_key: [name for name in order[item.table_key] if _is_usable(item, name)] for item in types}
    if features is None:
        return usable
    if not isinstance(features, Mapping):
        wanted = [features] if isinstance(features, str) else list(features)
        known = {name for names in usable.values() for name in names}
        for name in wanted:
            if name not in known:
                raise _unusable(name, sorted(known))
        return {key: [name for name in wanted if name in names] for key, names in usable.items()}
    found: dict[str, list[str]] = {key: [] for key in usable}
    for type_name, names in features.items():
        for item in types_named(types, type_name):
            wanted = [names] if isinstance(names, str) else list(names)
            for name in wanted:
                if name not in usable[item.table_key]:
                    raise _unusable(f"{item.name}.{name}", usable[item.table_key])
            found[item.table_key] = wanted
    return found


def _unusable(name: str, known: Sequence[str]) -> UsageError:
    hint = did_you_mean(name, known) or f"numbers and vectors are {', '.join(known) or 'none'}"
    return UsageError(f"{name!r} is no property that can be a feature", hint=hint, property=name)


def _is_usable(entity: Entity, name: str) -> bool:
    type_: PropertyType | None = entity.properties[name].type if name in entity.properties else None
    if type_ is None or type_.is_list:
        return False
    return type_.is_vector or type_.scalar.is_numeric or type_.scalar is Scalar.BOOL


def _features(table: pa.Table, names: list[str], missing: float) -> tuple[Floats, list[str]]:
    """The columns side by side, and a name for each number."""
    columns = [_floats(table.column(name).combine_chunks(), missing) for name in names]
    numbered = [
        name if column.shape[1] == 1 else f"{name}[{place}]"
        for name, column in zip(names, columns, strict=True)
        for place in range(column.shape[1])
    ]
    return np.concatenate(columns, axis=1), numbered


def _floats(column: pa.Array, missing: float) -> Floats:
    """The values of a property, one row for each entity."""
    if pa.types.is_fixed_size_list(column.type):
        width = column.type.list_size
        found = np.full((len(column), width), missing, np.float32)
        present = column.is_valid().to_numpy(zero_copy_only=False)
        found[present] = column.drop_null().flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
        return found
    filled = pc.fill_null(column.cast(pa.float32(), safe=False), pa.scalar(missing, pa.float32()))
    floats: Floats = filled.to_numpy(zero_copy_only=False)
    return floats.reshape(-1, 1)
