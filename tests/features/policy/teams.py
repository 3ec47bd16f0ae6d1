"""A small graph of two teams, and rules that leave each actor its own team."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omnigraph import Graph

SCHEMA = """
node Person { name: String @key  team: String?  age: I32?  salary: I64?  photo: Blob?  bio: String? }
node City { name: String @key }
edge Knows: Person -> Person { since: I32? }
edge LivesIn: Person -> City
"""
PEOPLE = [("ann", "red", 30), ("bob", "red", 40), ("cleo", "blue", 50), ("dan", "red", 60), ("eve", None, 70)]
KNOWS = [("ann", "bob", 1), ("bob", "cleo", 2), ("cleo", "dan", 3), ("ann", "dan", 99), ("dan", "bob", 4)]
BUNDLE = """
version: 1
groups: {staff: [ann, bob], admins: [root], outsiders: [zoe]}
attributes: {team: String}
actors: {ann: {team: red}, zoe: {team: red}}
rules:
  - id: staff
    allow: {actors: {group: staff}, actions: [read, change, export, branch_create, branch_merge, schema_apply, admin]}
  - id: admins
    allow: {actors: {group: admins}, actions: [read, change, export, branch_merge, branch_create]}
  - id: outsiders
    allow: {actors: {group: outsiders}, actions: [read]}
"""
ROWS = """
@id("own team")
permit (principal in Omnigraph::Group::"staff", action in [Omnigraph::Action::"read_entity", Omnigraph::Action::"change_entity"], resource is Data::Person)
when { principal has team && resource has team && resource.team == principal.team };

@id("young acquaintances")
permit (principal in Omnigraph::Group::"staff", action in [Omnigraph::Action::"read_entity", Omnigraph::Action::"change_entity"], resource is Data::Knows)
unless { resource has since && resource.since > 50 };

@id("admins")
permit (principal in Omnigraph::Group::"admins", action, resource);

@id("everything but salaries")
permit (principal in Omnigraph::Group::"staff", action == Omnigraph::Action::"read_property", resource)
unless { context.property == "salary" };

@id("free branch")
permit (principal, action == Omnigraph::Action::"read_entity", resource) when { context.branch == "free" };
"""  # noqa: E501 # the heads of rules are long
LINES = "match { $p: Person } return { $p.name } order { $p.name }"


def bundle(place: Path, rows: str = ROWS, text: str = BUNDLE) -> Path:
    place.mkdir(exist_ok=True)
    (place / "rows.cedar").write_text(rows)
    (place / "policy.yaml").write_text(text)
    return place / "policy.yaml"


def rows(graph: Graph, text: str, **how: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in graph.query(f"query q() {{ {text} }}", **how).to_dicts()]
