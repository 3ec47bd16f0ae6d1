"""Every way to show a branch but queries, compared with the entities that Cedar permits one by one."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from omnigraph import Graph
from omnigraph.engine.explore.entity import read_entity
from omnigraph.engine.explore.neighbours import neighbours
from omnigraph.engine.explore.pages import PageOptions, read_page
from omnigraph.engine.history.commit_changes import ChangeBlock
from omnigraph.engine.picture.scene import NODES_MAX, Wanted, scene
from omnigraph.engine.query.table_names import table_names
from omnigraph.errors import MergeConflicts, NotFoundError, PolicyDenied
from omnigraph.history.changes import Op
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.policy import Policy
from omnigraph.schema.compile import accept
from tests.features.exec.compare import read_data
from tests.features.exec.generate import Schema, Type
from tests.features.exec.naive_values import Data
from tests.features.policy.rule_writer import FullEvaluation

Changes = set[tuple[str, str, str]]
"""Operation, type and id."""


def columns(type_: Type) -> set[str]:
    return {"id", *(prop.name for prop in type_.every)}


@dataclass
class Seen:
    """A graph as an actor may see it: the graph, the place, and what Cedar leaves of its data and its schema."""

    graph: Graph
    where: dict[str, str]
    every: Data
    visible: Data
    schema: Schema

    def check(self, rng: Random, owner: Graph) -> int:
        """Compare all ways; the number of comparisons. ``owner`` is the graph without rules."""
        snapshot = self.graph.snapshot(**self.where)
        self._check_views()
        self._check_counts(snapshot.counts(), self.graph.counts(**self.where))
        exported = b"".join(self.graph.export(**self.where))
        self._check_lines(exported)
        self._check_sql()
        self._check_search(rng, owner)
        if "branch" in self.where:
            self._check_feed(exported)
        self._check_entities(rng)
        self._check_neighbours()
        if self.schema.nodes:
            drawn = scene(snapshot, Wanted(), NODES_MAX, None, "")
            assert drawn.nodes_total == sum(map(len, self.visible_nodes.values()))
            assert drawn.edges_total == sum(map(len, self.visible_edges.values()))
        accepted = accept(parse_schema(Source(snapshot.schema_text())), domain="D")
        assert {node.name for node in accepted.nodes} == self.schema.nodes.keys()
        assert {edge.name for edge in accepted.edges} == self.schema.edges.keys()
        return 9

    @property
    def visible_nodes(self) -> dict[str, dict[str, Any]]:
        return {name: self.visible.nodes[name] for name in self.schema.nodes}

    @property
    def visible_edges(self) -> dict[str, dict[str, Any]]:
        return {name: self.visible.edges[name] for name in self.schema.edges}

    def _check_views(self) -> None:
        for name, node in self.schema.nodes.items():
            found = {row["id"]: row for row in self.graph.nodes(name, **self.where)}
            assert found.keys() == self.visible.nodes[name].keys()
            assert all(row.keys() == columns(node) for row in found.values())
        for name in self.schema.edges:
            found = {row["id"]: row for row in self.graph.edges(name, **self.where)}
            assert {id_: (row["src"], row["dst"]) for id_, row in found.items()} == {
                id_: (row[0].id, row[1].id) for id_, row in self.visible.edges[name].items()
            }

    def _check_counts(self, by_key: dict[str, int], by_name: dict[str, int]) -> None:
        nodes = {name: len(rows) for name, rows in self.visible_nodes.items()}
        edges = {name: len(rows) for name, rows in self.visible_edges.items()}
        assert by_name == {**nodes, **edges}
        assert by_key == {
            **{f"node:{name}": count for name, count in nodes.items()},
            **{f"edge:{name}": count for name, count in edges.items()},
        }

    def _check_lines(self, exported: bytes) -> None:
        known = {**self.visible_nodes, **self.visible_edges}
        types = {**self.schema.nodes, **self.schema.edges}
        found = Counter[str]()
        for line in exported.splitlines():
            record = json.loads(line)
            name = record.get("type") or record["edge"]
            assert record["data"]["id"] in known[name]
            assert record["data"].keys() <= columns(types[name])
            found[name] += 1
        assert found == Counter({name: len(rows) for name, rows in known.items()})

    def _check_sql(self) -> None:
        known = {**self.visible_nodes, **self.visible_edges}
        for table, entity in table_names(self.graph.snapshot(**self.where).entities()).items():
            rows = self.graph.sql(f'select * from "{table}"', **self.where)
            assert {row["id"] for row in rows.to_dicts()} == known[entity.name].keys()
            ends = {"src", "dst"} if entity.name in self.schema.edges else set()
            assert {*rows.columns} == columns({**self.schema.nodes, **self.schema.edges}[entity.name]) | ends
            few = self.graph.sql(f"select count(*) as n from \"{table}\" where id >= '2'", **self.where).to_dicts()
            assert few == [{"n": sum(id_ >= "2" for id_ in known[entity.name])}]

    def _check_search(self, rng: Random, owner: Graph) -> None:
        """Words are a property of one text, and scores of the whole table: both are the owner's, for fewer entities."""
        for name, node in self.schema.nodes.items():
            texts = [prop.name for prop in node.every if prop.scalar == "String" and not (prop.is_list or prop.enum)]
            for prop in texts[:2]:
                words, few = rng.choice(["ab ba", "O'Neil", "b", "z"]), rng.randint(1, 4)
                found = f'match {{ $x: {name} search($x.{prop}, "{words}") }} return {{ id($x) as id }}'
                ranked = f'match {{ $x: {name} }} return {{ id($x) as id }} order {{ bm25($x.{prop}, "{words}") }}'
                every = [row["id"] for row in owner.query(found, **self.where)]
                assert {row["id"] for row in self.graph.query(found, **self.where)} == {
                    id_ for id_ in every if id_ in self.visible.nodes[name]
                }
                order = [row["id"] for row in owner.query(ranked, **self.where)]
                assert [row["id"] for row in self.graph.query(f"{ranked} limit {few}", **self.where)] == [
                    id_ for id_ in order if id_ in self.visible.nodes[name]
                ][:few]

    def _check_feed(self, exported: bytes) -> None:
        """A reader that follows the feed from the beginning has what the branch shows, as has one with a baseline.

        An edge that did not change is not reported when an end appears or disappears: the reader drops the edges of
        nodes that disappear, and has to ask for those of nodes that appear later than in the first commit.
        """
        branch = self.where["branch"]
        assert b"".join(self.graph.change_baseline(branch).lines()) == exported
        held: dict[tuple[str, str], dict[str, Any]] = {}
        ends: dict[tuple[str, str], set[tuple[str, str]]] = {}
        late: set[tuple[str, str]] = set()
        blocks = self._blocks(branch)
        for number, block in enumerate(blocks):
            for change in block:
                key = (change.type_name, change.id)
                if change.after is None:
                    held.pop(key, None)
                    held = {other: data for other, data in held.items() if key not in ends.get(other, ())}
                    continue
                held[key] = {"id": change.id, **change.after.properties}
                if change.kind == "edge":
                    edge = self.schema.edges[change.type_name]
                    ends[key] = {(edge.source, change.after.source or ""), (edge.target, change.after.target or "")}
                elif number and change.op is Op.INSERT:
                    late.add(key)
        shown: dict[tuple[str, str], dict[str, Any]] = {}
        for record in map(json.loads, exported.splitlines()):
            name = record.get("type") or record["edge"]
            edge = self.schema.edges.get(name)
            unreported = edge and late & {(edge.source, record["from"]), (edge.target, record["to"])}
            if not unreported or (name, record["data"]["id"]) in held:
                shown[name, record["data"]["id"]] = record["data"]
        differing = {key: (held.get(key), shown.get(key)) for key in {*held, *shown} if held.get(key) != shown.get(key)}
        assert not differing, differing

    def _blocks(self, branch: str) -> list[ChangeBlock]:
        found: list[ChangeBlock] = []
        page = self.graph.changes("beginning", branch=branch, limit=1_000)
        found += page.blocks
        while not page.caught_up:
            page = self.graph.changes(page.cursor, branch=branch)
            found += page.blocks
        return found

    def _check_entities(self, rng: Random) -> None:
        snapshot = self.graph.snapshot(**self.where)
        for name, node in self.schema.nodes.items():
            visible = self.visible.nodes[name]
            for id_ in rng.sample(sorted(self.every.nodes[name]), min(3, len(self.every.nodes[name]))):
                try:
                    found = read_entity(snapshot, "node", name, id_)
                except NotFoundError:
                    assert id_ not in visible
                else:
                    assert id_ in visible
                    assert {"id", *found.properties} == columns(node)
            page = read_page(snapshot.nodes(name), PageOptions(limit=1_000))
            assert page.rows.column("id").to_pylist() == sorted(visible)
            assert page.total == len(visible)

    def _check_neighbours(self) -> None:
        snapshot = self.graph.snapshot(**self.where)
        starts = {name: sorted(self.every.nodes[name]) for name in self.schema.nodes}
        found = neighbours(snapshot, starts, limit=1_000)
        assert {(node.type, node.id) for node in found.nodes} == {
            (name, id_) for name, rows in self.visible_nodes.items() for id_ in rows
        }
        assert {(edge.type, edge.id) for edge in found.edges} == {
            (name, id_) for name, rows in self.visible_edges.items() for id_ in rows
        }


def changes_between(before: tuple[Data, Data], after: tuple[Data, Data], seen: Schema) -> Changes:
    """The changes between two moments; of each all entities, and the visible ones."""
    found = set()
    for kind, types in (("nodes", seen.nodes), ("edges", seen.edges)):
        for name, type_ in types.items():
            shown = [prop.name for prop in type_.every]
            sides = [getattr(data, kind)[name] for data in (*before, *after)]
            all_old, old, all_new, new = sides
            for id_ in {*old, *new}:
                if id_ in old and id_ in new:
                    if is_other(_shown(old[id_], shown), _shown(new[id_], shown)):
                        found.add(("update", name, id_))
                elif id_ not in all_old or id_ not in all_new or is_other(all_old[id_], all_new[id_]):
                    found.add(("insert" if id_ in new else "delete", name, id_))
    return found


def is_other(one: Any, other: Any) -> bool:
    """True if stored values differ: 0.0 and -0.0 do, as their bits."""
    return repr(one) != repr(other)


def _shown(row: Any, names: list[str]) -> tuple[Any, ...]:
    """The ends and some properties of an entity."""
    ends, properties = (row[:2], row[2]) if isinstance(row, tuple) else ((), row)
    return (ends, *(properties[name] for name in names))


@dataclass
class SeenMerge:
    """A merge of one branch into another by an actor, and the data that it leads to."""

    policy: Policy
    actor: str
    source: str
    target: str
    before: Data
    """The target."""
    there: Data
    """The source."""
    after: Data
    seen: Schema
    whole: Schema
    on_target: FullEvaluation
    on_source: FullEvaluation

    def expected(self) -> Changes:
        """The changes that a preview counts."""
        visible = (self.on_target.visible(self.before), self.on_target.visible(self.after))
        found = changes_between((self.before, visible[0]), (self.after, visible[1]), self.seen)
        foreign = self._foreign(visible[1])
        return {change for change in found if change[1:] not in foreign}

    def is_allowed(self) -> bool:
        """True if every image of a changed entity is visible, and no hidden property differs."""
        old, new = self.on_target.visible(self.before), self.on_target.visible(self.after)
        foreign = self._foreign(self.after)
        for kind, types in (("nodes", self.whole.nodes), ("edges", self.whole.edges)):
            for name, type_ in types.items():
                rows = [getattr(data, kind)[name] for data in (self.before, self.after, old, new)]
                shown = getattr(self.seen, kind).get(name)
                known = set() if shown is None else {prop.name for prop in shown.every}
                hidden = [prop.name for prop in type_.every if prop.name not in known]
                for id_ in {*rows[0], *rows[1]}:
                    if not is_other(rows[0].get(id_), rows[1].get(id_)):
                        continue
                    if (id_ in rows[0] and id_ not in rows[2]) or (id_ in rows[1] and id_ not in rows[3]):
                        return False
                    if (name, id_) in foreign:
                        return False
                    if id_ in rows[1]:
                        values = _shown(rows[1][id_], hidden)[1:]
                        earlier = _shown(rows[0][id_], hidden)[1:] if id_ in rows[0] else (None,) * len(hidden)
                        if is_other(values, earlier):
                            return False
        return True

    def _foreign(self, among: Data) -> set[tuple[str, str]]:
        """Entities that the source has and hides."""
        visible = self.on_source.visible(self.there)
        return {
            (name, id_)
            for kind in ("nodes", "edges")
            for name, rows in getattr(self.there, kind).items()
            for id_ in rows
            if id_ not in getattr(visible, kind)[name] and id_ in getattr(among, kind)[name]
        }


def merged_by_owner(graph: Graph, source: str, target: str) -> Data | None:
    """The data after a merge by the owner, on a branch of its own; None if the merged graph breaks a constraint."""
    graph.create_branch(f"{target}-owner", target)
    try:
        graph.merge(source, f"{target}-owner", policy="source")
    except MergeConflicts:
        return None
    finally:
        merged = read_data(graph.snapshot(f"{target}-owner"))
        graph.delete_branch(f"{target}-owner")
    return merged


def check_merge(graph: Graph, merge: SeenMerge) -> str:
    """Preview and make a merge as the actor; what came of it."""
    acting = graph.under(merge.policy).acting_as(merge.actor)
    preview = acting.merge_preview(merge.source, merge.target, policy="source")
    wanted = merge.expected()
    counts = Counter((f"{'edge' if name in merge.whole.edges else 'node'}:{name}", op) for op, name, _ in wanted)
    found = Counter[tuple[str, str]]()
    for table in preview.tables:
        for op, number in (("insert", table.inserted), ("update", table.updated), ("delete", table.deleted)):
            found[table.key, op] += number
    assert +found == counts
    if not merge.is_allowed():
        try:
            acting.merge(merge.source, merge.target, policy="source")
        except PolicyDenied:
            return "merge denied"
        raise AssertionError("a merge of hidden entities was made")
    acting.merge(merge.source, merge.target, policy="source")
    assert read_data(graph.snapshot(merge.target)) == merge.after
    return "merge made"
