"""Screens that browse a graph, as JSON: the catalog, entities, pages of them, neighbours, samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.rows.write.results import result_rows
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.wire.changes import cause_json

if TYPE_CHECKING:
    from omnigraph.engine.explore.entity import EntityFound
    from omnigraph.engine.explore.entity_history import EntityHistory
    from omnigraph.engine.explore.neighbours import EdgeFound, Neighbourhood, NodeFound
    from omnigraph.engine.explore.pages import Page
    from omnigraph.engine.explore.property_history import PropertyHistory
    from omnigraph.engine.picture.scene import Scene
    from omnigraph.engine.query.row_entities import RowEntities
    from omnigraph.schema.catalog import Catalog
    from omnigraph.schema.ir import CustomAnnotation, External, PropertyIR


def catalog_json(catalog: Catalog, counts: Mapping[str, int], captions: Mapping[str, str]) -> dict[str, Any]:
    """The types of a graph with their properties, and the number of entities by table key."""
    return {
        "nodes": [_node_json(item, counts, captions) for item in catalog.nodes.values()],
        "edges": [_edge_json(item, counts) for item in catalog.edges.values()],
    }


def _node_json(node: NodeType, counts: Mapping[str, int], captions: Mapping[str, str]) -> dict[str, Any]:
    return {
        **_type_json(node, counts),
        "implements": list(node.ir.implements),
        "caption": captions.get(node.name),
        "ranges": [{"property": item.property, "low": item.low, "high": item.high} for item in node.ranges],
        "checks": [{"property": item.property, "pattern": item.pattern} for item in node.checks],
    }


def _edge_json(edge: EdgeType, counts: Mapping[str, int]) -> dict[str, Any]:
    return {
        **_type_json(edge, counts),
        "source": " | ".join(edge.source.types),
        "target": " | ".join(edge.target.types),
        "ends": [{"source": source, "target": target} for source, target in edge.pairs],
        "cardinality": {"min": edge.ir.card_min, "max": edge.ir.card_max},
    }


def _type_json(item: NodeType | EdgeType, counts: Mapping[str, int]) -> dict[str, Any]:
    return {
        "kind": item.table_key.partition(":")[0],
        "name": item.name,
        "count": counts.get(item.table_key, 0),
        "description": item.ir.description,
        "instruction": item.ir.instruction,
        "key": list(item.key),
        "unique": [list(constraint.properties) for constraint in item.uniques],
        "indexes": [list(constraint.properties) for constraint in item.indexes],
        "annotations": _annotations_json(item.ir.annotations),
        "external": None if item.ir.external is None else _external_json(item.ir.external),
        "properties": [_property_json(prop, item) for prop in item.properties.values()],
    }


def _external_json(external: External) -> dict[str, Any]:
    return {"address": external.address, "format": None if external.format is None else external.format.value}


def _property_json(prop: PropertyIR, owner: NodeType | EdgeType) -> dict[str, Any]:
    type_ = prop.type
    # Data rules may show a vector and hide the text that it is computed from.
    embed = prop.embed if prop.embed is not None and prop.embed.source in owner.properties else None
    return {
        "name": prop.name,
        "type": str(type_),
        "scalar": type_.scalar.value,
        "is_list": type_.is_list,
        "nullable": type_.nullable,
        "dimension": type_.dimension,
        "enum_values": None if type_.enum_values is None else list(type_.enum_values),
        "is_key": prop.name in owner.key,
        "description": prop.description,
        "merge": None if prop.merge is None else prop.merge.value,
        "embed": None if embed is None else {"source": embed.source, "model": embed.model},
        "interface": prop.injected_from,
        "annotations": _annotations_json(prop.annotations),
    }


def _annotations_json(annotations: Sequence[CustomAnnotation]) -> list[dict[str, Any]]:
    return [{"name": item.name, "value": item.value, "arguments": dict(item.arguments)} for item in annotations]


def entity_json(entity: EntityFound) -> dict[str, Any]:
    """An entity with all of its properties; a blob is its size. An edge has its ends."""
    ends = {} if entity.ends is None else {"source": _end_json(entity.ends[0]), "target": _end_json(entity.ends[1])}
    return {
        "kind": entity.kind,
        "type": entity.type,
        "id": entity.id,
        **ends,
        "properties": dict(entity.properties),
    }


def _end_json(end: tuple[str, str]) -> dict[str, Any]:
    return {"type": end[0], "id": end[1]}


def property_history_json(history: PropertyHistory) -> dict[str, Any]:
    """The commit that set each property, and the one that inserted the entity if the walk reached it."""
    causes = {commit.id: {**cause_json(commit), "message": commit.message} for commit in _commits(history)}
    return {
        "properties": {name: causes[commit.id] for name, commit in history.commits.items()},
        "created": None if history.created is None else causes[history.created.id],
        "complete": history.is_complete,
    }


def _commits(history: PropertyHistory) -> Iterable[Any]:
    return [*history.commits.values(), *([] if history.created is None else [history.created])]


def page_json(page: Page) -> dict[str, Any]:
    """A page of entities, one object per row."""
    return {"total": page.total, "columns": page.rows.schema.names, "rows": result_rows(page.rows)}


def neighbourhood_json(found: Neighbourhood) -> dict[str, Any]:
    """Nodes with their neighbours, edges, and the totals per edge type and direction."""
    return {
        "nodes": [_node_found_json(item) for item in found.nodes],
        "edges": [_edge_found_json(item) for item in found.edges],
        "totals": [
            {"type": item.type, "direction": item.side.value, "total": item.total, "shown": item.shown}
            for item in found.totals
        ],
    }


def _node_found_json(node: NodeFound) -> dict[str, Any]:
    return {"type": node.type, "id": node.id, "caption": node.caption, "properties": dict(node.properties)}


def _edge_found_json(edge: EdgeFound) -> dict[str, Any]:
    return {
        "type": edge.type,
        "id": edge.id,
        "source": _end_json(edge.source),
        "target": _end_json(edge.target),
        "properties": dict(edge.properties),
    }


def sample_json(scene: Scene) -> dict[str, Any]:
    """A sample of a graph with positions. Ends of edges are places in the list of nodes."""
    return {
        "nodes_total": scene.nodes_total,
        "edges_total": scene.edges_total,
        "nodes": [
            {"type": item.type, "id": item.id, "caption": item.caption, "x": item.x, "y": item.y}
            for item in scene.nodes
        ],
        "edges": [
            {"type": item.type, "id": item.id, "source": item.source, "target": item.target} for item in scene.edges
        ],
    }


def change_picture_json(scene: Scene, *, is_by_type: bool) -> dict[str, Any]:
    """A change with positions, signs, and the values before and after as texts."""
    return {
        "by_type": is_by_type,
        "shown": scene.shown,
        "nodes": [
            {
                "type": item.type,
                "id": item.id,
                "caption": item.caption,
                "x": item.x,
                "y": item.y,
                "sign": item.sign,
                "size": item.size,
                "facts": dict(item.properties),
            }
            for item in scene.nodes
        ],
        "edges": [
            {
                "type": item.type,
                "id": item.id,
                "source": item.source,
                "target": item.target,
                "sign": item.sign,
                "facts": dict(item.properties),
            }
            for item in scene.edges
        ],
    }


def entity_history_json(history: EntityHistory) -> dict[str, Any]:
    """The commits that changed an entity, newest first, with the values before and after."""
    return {
        "commits": [
            {
                "cause": {**cause_json(step.commit), "message": step.commit.message},
                "op": step.op.value,
                "changes": [
                    {"property": name, "before": before, "after": after} for name, before, after in step.values
                ],
            }
            for step in history.steps
        ],
        "complete": history.is_complete,
    }


def row_entities_json(found: RowEntities) -> dict[str, Any]:
    """The variables of a query, the edge patterns between them, and the ids of each row in their order."""
    columns = [column.to_pylist() for column in found.ids.columns]
    return {
        "variables": [{"name": item.name, "kind": item.kind, "type": item.type} for item in found.bindings],
        "links": [
            {
                "source": item.source,
                "target": item.target,
                "type": item.edge,
                "hops": [item.low, item.high],
                "is_both": item.is_both,
            }
            for item in found.links
        ],
        "ids": [list(row) for row in zip(*columns, strict=True)] if columns else [],
    }
