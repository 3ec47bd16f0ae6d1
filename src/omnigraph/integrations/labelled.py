"""A labelled property graph on two types: nodes and relations whose labels and properties no schema declares.

Frameworks that extract graphs from texts make up labels as they go. A node keeps its label as a value and its
properties as JSON; members that are compared are also kept as texts, so that queries can select by them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.integrations.facts import fact, kept
from omnigraph.integrations.graphs import AnyGraph, declare
from omnigraph.integrations.vectors import cosine, unit


@dataclass(frozen=True, slots=True)
class Node:
    """A node. ``text`` is what full-text search reads."""

    id: str
    label: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    embedding: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A directed relation; two nodes have at most one with the same label."""

    source: str
    target: str
    label: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = field(default=None, compare=False)
    """The id in the graph, of a relation that was read from it."""

    @property
    def key(self) -> tuple[str, str, str]:
        """The ends and the label, which identify it."""
        return self.source, self.target, self.label


@dataclass(frozen=True, slots=True)
class Names:
    """The types that hold a labelled graph."""

    node: str = "Entity"
    relation: str = "Relation"

    @property
    def vector(self) -> str:
        """The type of embeddings; they have a type of their own, because their length is known later."""
        return f"{self.node}Vector"

    def declarations(self) -> str:
        """The schema of nodes and relations."""
        return f"""
node {self.node} @description("A node of a labelled graph.") {{
  name: String @key
  label: String @index
  text: String? @index
  properties: String
  facts: [String]?
}}

edge {self.relation}: {self.node} -> {self.node} @key(src, dst, label) {{
  label: String
  properties: String
  facts: [String]?
}}
"""

    def vectors(self, dims: int) -> str:
        """The schema of embeddings."""
        return f"""
node {self.vector} @description("The embedding of a node.") {{
  name: String @key
  label: String @index
  embedding: Vector({dims}) @index
}}
"""


@dataclass(slots=True)
class LabelledGraph:
    """A labelled graph on one branch. Every call of a writing method is one commit."""

    graph: AnyGraph
    branch: str
    names: Names = field(default_factory=Names)
    message: str | None = None
    _dims: int | None = None

    def upsert(self, nodes: Iterable[Node] = (), relations: Iterable[Relation] = (), *, merges: bool = False) -> None:
        """Write nodes and relations. Ends that do not exist become nodes without properties.

        An existing node or relation is replaced; with ``merges`` it keeps properties that are not named.
        """
        given = {node.id: node for node in nodes}
        links = {item.key: item for item in relations}
        ends = dict.fromkeys(end for link in links for end in link[:2])
        known = self.nodes(ids=[*given, *ends] if merges else [end for end in ends if end not in given])
        before = {node.id: node for node in known}
        missing = {end: Node(end, "entity") for end in ends if end not in given and end not in before}
        if merges:
            given = {name: _merged(before.get(name), node) for name, node in given.items()}
            links = self._merged_links(links)
        written = [*missing.values(), *given.values()]
        records = [*map(self._node_record, written), *map(self._relation_record, links.values())]
        records += self._vector_records(written)
        if records:
            self.graph.retry(
                lambda graph: graph.load(records, "merge", branch=self.branch, message=self.message),
            )

    def nodes(
        self, *, ids: Sequence[str] | None = None, label: str | None = None, properties: Mapping[str, Any] | None = None
    ) -> list[Node]:
        """Nodes by id, label and equal properties; all of them must hold."""
        if ids is not None and not ids:
            return []
        params, conditions = _conditions("$n", properties, label)
        if ids is not None:
            params["ids"] = list(dict.fromkeys(ids))
            conditions.append("($n.name in $ids)")
        rows = self._query(
            f"match {{ $n: {self.names.node} {' '.join(conditions)} }}"
            " return { $n.name as id, $n.label as label, $n.text as text, $n.properties as properties }"
            " order { $n.name }",
            params,
        )
        return [Node(row["id"], row["label"], json.loads(row["properties"]), row["text"]) for row in rows]

    def relations(
        self,
        *,
        ends: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
        targets: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
    ) -> list[Relation]:
        """Relations that touch one of ``ends``, begin at ``sources``, end at ``targets``, and have a label."""
        params, conditions = _conditions("$r", properties, None)
        tests = {
            "ends": "($a.name in $ends or $b.name in $ends)",
            "sources": "($a.name in $sources)",
            "targets": "($b.name in $targets)",
            "labels": "($r.label in $labels)",
        }
        for (name, condition), given in zip(tests.items(), (ends, sources, targets, labels), strict=True):
            if given is None:
                continue
            if not given:
                return []
            params[name] = list(dict.fromkeys(given))
            conditions.append(condition)
        edge = self.names.relation[:1].lower() + self.names.relation[1:]
        rows = self._query(
            f"match {{ $a: {self.names.node} $a $r: {edge} $b {' '.join(conditions)} }} return {{ id($r) as id,"
            " $a.name as source, $b.name as target, $r.label as label, $r.properties as properties }"
            " order { $a.name, $b.name, $r.label }",
            params,
        )
        return [
            Relation(row["source"], row["target"], row["label"], json.loads(row["properties"]), row["id"])
            for row in rows
        ]

    def delete_nodes(self, ids: Sequence[str]) -> None:
        """Delete nodes with their relations and embeddings."""
        if not ids:
            return
        statement = f"delete {self.names.node} where name in $ids"
        if self.dims is not None:
            statement += f" delete {self.names.vector} where name in $ids"
        self._mutate(f"query remove($ids: [String]) {{ {statement} }}", {"ids": list(dict.fromkeys(ids))})

    def delete_relations(self, relations: Iterable[Relation]) -> None:
        """Delete relations."""
        ids = [item.id for item in self._stored(relations) if item.id is not None]
        if ids:
            text = f"query remove($ids: [String]) {{ delete {self.names.relation} where id in $ids }}"
            self._mutate(text, {"ids": ids})

    def _stored(self, relations: Iterable[Relation]) -> list[Relation]:
        """The relations of the graph with the same ends and labels."""
        wanted = {item.key for item in relations}
        if not wanted:
            return []
        sources, targets, labels = (sorted({key[place] for key in wanted}) for place in range(3))
        found = self.relations(sources=sources, targets=targets, labels=labels)
        return [item for item in found if item.key in wanted]

    def clear(self) -> None:
        """Delete all nodes and relations."""
        self.delete_nodes([node.id for node in self.nodes()])

    def nearest(
        self, vector: Sequence[float], limit: int, labels: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """The ids of the closest nodes with the cosine of their embedding."""
        if self.dims is None:
            return []
        condition = "" if labels is None else "($v.label in $labels)"
        params: dict[str, Any] = {"vector": unit(vector), "n": limit}
        if labels is not None:
            params["labels"] = list(labels)
        rows = self._query(
            f"match {{ $v: {self.names.vector} {condition} }}"
            " return { $v.name as id, nearest($v.embedding, $vector) as distance }"
            " order { nearest($v.embedding, $vector) } limit $n",
            params,
        )
        return [(row["id"], cosine(row["distance"])) for row in rows]

    @property
    def dims(self) -> int | None:
        """The length of embeddings; None if there are none yet."""
        if self._dims is None:
            found = self.graph.catalog(self.branch).nodes.get(self.names.vector)
            self._dims = None if found is None else found.properties["embedding"].type.dimension
        return self._dims

    def _query(self, body: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        declared = ", ".join(f"${name}: {_type_of(value)}" for name, value in params.items())
        return self.graph.query(f"query q({declared}) {{ {body} }}", params, branch=self.branch).to_dicts()

    def _mutate(self, text: str, params: Mapping[str, Any]) -> None:
        self.graph.retry(lambda graph: graph.mutate(text, params, branch=self.branch, message=self.message))

    def _merged_links(self, links: Mapping[tuple[str, str, str], Relation]) -> dict[tuple[str, str, str], Relation]:
        before = {item.key: item for item in self._stored(links.values())}
        return {
            key: replace(item, properties={**(before[key].properties if key in before else {}), **item.properties})
            for key, item in links.items()
        }

    def _node_record(self, node: Node) -> dict[str, Any]:
        content = {"name": node.id, "label": node.label, "text": node.text, **kept(node.properties, "properties")}
        return {"type": self.names.node, "data": content}

    def _relation_record(self, item: Relation) -> dict[str, Any]:
        content = {"label": item.label, **kept(item.properties, "properties")}
        return {"edge": self.names.relation, "from": item.source, "to": item.target, "data": content}

    def _vector_records(self, nodes: Sequence[Node]) -> list[dict[str, Any]]:
        """The embeddings of nodes that have one; the first of them decides about their length."""
        embedded = [(node, node.embedding) for node in nodes if node.embedding is not None]
        if not embedded:
            return []
        if self.dims is None:
            declare(self.graph, self.names.vectors(len(embedded[0][1])), self.branch)
        return [
            {
                "type": self.names.vector,
                "data": {"name": node.id, "label": node.label, "embedding": unit(embedding)},
            }
            for node, embedding in embedded
        ]


def _merged(before: Node | None, node: Node) -> Node:
    if before is None:
        return node
    return replace(node, properties={**before.properties, **node.properties}, text=node.text or before.text)


def _conditions(
    variable: str, properties: Mapping[str, Any] | None, label: str | None
) -> tuple[dict[str, Any], list[str]]:
    """Parameters and conditions for equal properties and a label."""
    params: dict[str, Any] = {}
    conditions: list[str] = []
    for number, (name, value) in enumerate((properties or {}).items()):
        params[f"fact{number}"] = fact(name, value)
        conditions.append(f"({variable}.facts contains $fact{number})")
    if label is not None:
        params["label"] = label
        conditions.append(f"{variable}.label = $label")
    return params, conditions


def _type_of(value: Any) -> str:
    match value:
        case [float(), *_]:
            return f"Vector({len(value)})"
        case list():
            return "[String]"
        case int():
            return "I64"
        case _:
            return "String"
