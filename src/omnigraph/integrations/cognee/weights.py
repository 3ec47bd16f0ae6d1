"""The methods of cognee's interface about feedback: weights of nodes and edges, and how well nodes agree."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from omnigraph.integrations.cognee.tables import Members, Tables, View, written

WEIGHT: Final = "feedback_weight"
WEIGHT_DEFAULT: Final = 0.5
"""The weight without feedback, as in the other stores of cognee."""

_EDGES: Final = (
    "match { $a: CogneeNode $a $r: cogneeRelation $b ($r.object in $ids) } return { $a.node_id as source,"
    " $b.node_id as target, $r.label as label, $r.object as object, $r.properties as properties }"
)


class WeightMethods:
    """Feedback that is kept among the members of nodes and edges."""

    tables: Tables
    _change: Callable[..., Any]

    async def get_nodes(self, node_ids: Sequence[str]) -> list[Members]:
        raise NotImplementedError

    async def get_node_feedback_weights(self, node_ids: Sequence[str]) -> dict[str, float]:
        return {node["id"]: _weight(node) for node in await self.get_nodes(_ids(node_ids))}

    async def set_node_feedback_weights(self, node_feedback_weights: Mapping[str, float]) -> dict[str, bool]:
        given = node_feedback_weights
        changed = await self._change(_ids(given), lambda id_, data: {**data, WEIGHT: float(given[id_])})
        return {id_: id_ in changed for id_ in given}

    async def get_node_truth_state(self, node_ids: Sequence[str]) -> dict[str, Members]:
        return {node["id"]: _truth(node) for node in await self.get_nodes(_ids(node_ids))}

    async def set_node_truth_state(self, node_truth_state: Mapping[str, Members]) -> dict[str, bool]:
        def change(id_: str, data: Members) -> Members:
            state = node_truth_state[id_]
            changed = {**data, "truth_alignment": list(state.get("truth_alignment") or [])}
            if state.get("truth_epoch") is not None:
                changed["truth_epoch"] = int(state["truth_epoch"])
            return changed

        changed = await self._change(_ids(node_truth_state), change)
        return {id_: id_ in changed for id_ in node_truth_state}

    async def get_edge_feedback_weights(self, edge_object_ids: Sequence[str]) -> dict[str, float]:
        rows = await asyncio.to_thread(lambda: _edges(self.tables.view(), edge_object_ids))
        return {row["object"]: _weight(json.loads(row["properties"])) for row in rows}

    async def set_edge_feedback_weights(self, edge_feedback_weights: Mapping[str, float]) -> dict[str, bool]:
        given = edge_feedback_weights

        def rows(view: View) -> list[dict[str, Any]]:
            return [
                {**row, "properties": written({**json.loads(row["properties"]), WEIGHT: float(given[row["object"]])})}
                for row in _edges(view, list(given))
            ]

        changed = {row["object"] for row in await asyncio.to_thread(self.tables.rewrite, "CogneeRelation", rows)}
        return {id_: id_ in changed for id_ in given}


def _ids(given: Iterable[Any]) -> list[str]:
    """Without what is no id, which cognee passes along."""
    return [id_ for id_ in given if isinstance(id_, str) and id_]


def _edges(view: View, object_ids: Sequence[str]) -> list[dict[str, Any]]:
    wanted = _ids(object_ids)
    return view.rows(_EDGES, ids=wanted) if wanted else []


def _weight(data: Members) -> float:
    try:
        return float(data.get(WEIGHT, WEIGHT_DEFAULT))
    except (TypeError, ValueError):
        return WEIGHT_DEFAULT


def _truth(data: Members) -> Members:
    alignment, epoch = data.get("truth_alignment"), data.get("truth_epoch")
    return {
        "truth_alignment": list(alignment) if isinstance(alignment, list | tuple) else [],
        "truth_epoch": int(epoch) if isinstance(epoch, int | float) else None,
    }
