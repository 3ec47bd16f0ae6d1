"""The nodes and relations of cognee as entities of a graph: types of their own, reads at one commit, atomic writes.

Names and types of nodes are values that no schema declares, so they are properties; all other members are kept as JSON.
An owner of a node or relation, which is a document or a chunk of one, is an edge to a source. So two writers that add
owners at the same time insert two edges, and neither reads what the other one wrote.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from omnigraph.errors import ConflictError, OutcomeUnknown, ViolationError
from omnigraph.integrations.graphs import AnyGraph
from omnigraph.manifest.layout import MAIN

DECLARATIONS: Final = """
node CogneeNode @description("A node of a cognee graph.") {
  node_id: String @key
  name: String @index
  kind: String @index
  properties: String
}

node CogneeSource @description("A document or a chunk that owns nodes and relations.") {
  ref: String @key
  dataset: String @index
}

node CogneeMetadata @description("A fact about a cognee graph.") {
  name: String @key
  value: String
}

edge CogneeRelation: CogneeNode -> CogneeNode @key(src, dst, label) {
  label: String
  properties: String
  object: String?
}

edge CogneeOwner: CogneeNode -> CogneeSource @key(src, dst) {
  run: String?
  attached: I64
}

edge CogneeRelationOwner: CogneeNode -> CogneeSource @key(src, dst, target, label) {
  target: String
  label: String
  run: String?
  attached: I64
}
"""

Members = dict[str, Any]
NodeData = tuple[str, Members]
RelationKey = tuple[str, str, str]
RelationData = tuple[str, str, str, Members]
Record = Mapping[str, Any]

_NODE = "$n.node_id as id, $n.name as name, $n.kind as type, $n.properties as properties"
_RELATION = "$a.node_id as source, $b.node_id as target, $r.label as label, $r.properties as properties"
_REWRITES: Final = {
    "CogneeNode": """
query rewrite($rows: [{ node_id: String, properties: String }]) {
  for $row in $rows { update CogneeNode set { properties: $row.properties } where node_id = $row.node_id }
}
""",
    "CogneeRelation": """
query rewrite($rows: [{ source: String, target: String, label: String, object: String?, properties: String }]) {
  for $row in $rows {
    insert CogneeRelation {
      from: $row.source, to: $row.target, label: $row.label, object: $row.object, properties: $row.properties
    }
  }
}
""",
}


@dataclass(slots=True)
class View:
    """Reads of one branch. The first one decides about the commit that all of them see."""

    graph: AnyGraph
    branch: str = MAIN
    commit: str | None = None

    def rows(self, body: str, **params: Any) -> list[dict[str, Any]]:
        declared = ", ".join(f"${name}: {_type_of(value)}" for name, value in params.items())
        branch = self.branch if self.commit is None else None
        result = self.graph.query(f"query q({declared}) {{ {body} }}", params, branch=branch, at=self.commit)
        self.commit = result.commit_id
        return result.to_dicts()

    def nodes(self, condition: str = "", shape: str = "", **params: Any) -> list[NodeData]:
        """Nodes that a condition on ``$n`` selects, with name, type and all members; ``shape`` limits them."""
        found = self.rows(
            f"match {{ $n: CogneeNode {condition} }} return {{ {_NODE} }} order {{ $n.node_id }} {shape}", **params
        )
        return [
            (row["id"], {"name": row["name"], "type": row["type"], **json.loads(row["properties"])}) for row in found
        ]

    def nodes_of(self, ids: Iterable[str]) -> list[NodeData]:
        wanted = list(dict.fromkeys(ids))
        return self.nodes("($n.node_id in $ids)", ids=wanted) if wanted else []

    def known(self, ids: Iterable[str]) -> set[str]:
        """The ids that are those of nodes."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return set()
        found = self.rows("match { $n: CogneeNode ($n.node_id in $ids) } return { $n.node_id as id }", ids=wanted)
        return {row["id"] for row in found}

    def relations(self, condition: str = "", shape: str = "", **params: Any) -> list[RelationData]:
        """Relations that a condition on ``$a $r $b`` selects; ``shape`` limits them."""
        found = self.rows(
            f"match {{ $a: CogneeNode $a $r: cogneeRelation $b {condition} }} return {{ {_RELATION} }}"
            f" order {{ $a.node_id, $b.node_id, $r.label }} {shape}",
            **params,
        )
        return [(row["source"], row["target"], row["label"], json.loads(row["properties"])) for row in found]

    def relations_of(self, keys: Iterable[RelationKey]) -> dict[RelationKey, Members]:
        """Those of the given relations that exist, with their members."""
        wanted = set(keys)
        if not wanted:
            return {}
        sources, targets = (sorted({key[place] for key in wanted}) for place in (0, 1))
        condition = "($a.node_id in $sources) ($b.node_id in $targets)"
        found = self.relations(condition, sources=sources, targets=targets)
        return {item[:3]: item[3] for item in found if item[:3] in wanted}

    def relation_ids(self, keys: Iterable[RelationKey]) -> list[str]:
        """The ids in the graph of those of the given relations that exist."""
        wanted = set(keys)
        if not wanted:
            return []
        found = self.rows(
            "match { $a: CogneeNode $a $r: cogneeRelation $b ($a.node_id in $sources) }"
            " return { id($r) as id, $a.node_id as source, $b.node_id as target, $r.label as label }",
            sources=sorted({key[0] for key in wanted}),
        )
        return [row["id"] for row in found if (row["source"], row["target"], row["label"]) in wanted]

    def relations_within(self, ids: Iterable[str]) -> list[RelationData]:
        """Relations between nodes of a set."""
        wanted = list(dict.fromkeys(ids))
        return self.relations("($a.node_id in $ids) ($b.node_id in $ids)", ids=wanted) if wanted else []

    def relations_around(self, ids: Iterable[str]) -> list[RelationData]:
        """Relations that begin or end at one of the nodes."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return []
        outgoing = self.relations("($a.node_id in $ids)", ids=wanted)
        incoming = self.relations("($b.node_id in $ids)", ids=wanted)
        return list({item[:3]: item for item in [*outgoing, *incoming]}.values())

    def neighbours(self, ids: Iterable[str], labels: Sequence[str] | None, limit: int) -> list[tuple[str, str]]:
        """Pairs of a given node and a neighbour in either direction, at most ``limit`` for each direction."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return []
        pairs: dict[tuple[str, str], None] = {}
        params: dict[str, Any] = {"ids": wanted, "n": limit, **({} if labels is None else {"labels": list(labels)})}
        for near, far in (("$a", "$b"), ("$b", "$a")):
            found = self.rows(
                f"match {{ $a: CogneeNode $a $r: cogneeRelation $b ({near}.node_id in $ids)"
                f" {'' if labels is None else '($r.label in $labels)'} }}"
                f" return distinct {{ {near}.node_id as near, {far}.node_id as far }}"
                " order { near, far } limit $n",
                **params,
            )
            pairs |= {(row["near"], row["far"]): None for row in found}
        return list(pairs)

    def count(self, body: str) -> int:
        [row] = self.rows(body)
        return int(row["n"])


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of cognee on one branch. Every writing method is one commit."""

    graph: AnyGraph
    branch: str = MAIN
    options: Mapping[str, Any] = field(default_factory=dict)

    def view(self) -> View:
        return View(self.graph, self.branch)

    def load(self, records: Callable[[View], list[Record]]) -> None:
        """Upsert records that are made from a view; they are made again if what they refer to is deleted meanwhile."""

        def attempt(graph: AnyGraph) -> None:
            made = records(self.view())
            if made:
                graph.load(made, "upsert", branch=self.branch, **self.options)

        # An end that was deleted after it was seen is a violation.
        self.graph.retry(attempt, on=(ConflictError, OutcomeUnknown, ViolationError))

    def mutate(self, text: str, params: Mapping[str, Any]) -> None:
        self.graph.retry(
            lambda graph: graph.mutate(text, params, branch=self.branch, **self.options), on=OutcomeUnknown
        )

    def delete_nodes(self, ids: Sequence[str]) -> None:
        """Delete nodes with their relations and owners."""
        if ids:
            self.mutate(
                "query remove($ids: [String]) {"
                " delete CogneeRelationOwner where target in $ids delete CogneeNode where node_id in $ids }",
                {"ids": list(dict.fromkeys(ids))},
            )

    def clear(self) -> None:
        """Delete all nodes, with their relations and owners."""
        self.mutate("query clear($none: String) { delete CogneeNode where node_id != $none }", {"none": ""})

    def rewrite(self, type_name: str, rows: Callable[[View], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """Replace the members of nodes or relations. If another writer changes the graph, the rows are made again."""

        def attempt(graph: AnyGraph) -> list[dict[str, Any]]:
            view = self.view()
            made = rows(view)
            if made:
                graph.mutate(
                    _REWRITES[type_name], {"rows": made}, branch=self.branch, if_commit=view.commit, **self.options
                )
            return made

        return self.graph.retry(attempt, on=(ConflictError, OutcomeUnknown))


def written(members: Mapping[str, Any]) -> str:
    """Members as JSON. Identity and label of the entity are properties of their own."""
    from cognee.modules.storage.utils import JSONEncoder

    return json.dumps(dict(members), cls=JSONEncoder)


def _type_of(value: Any) -> str:
    match value:
        case list():
            return "[String]"
        case int():
            return "I64"
        case _:
            return "String"
