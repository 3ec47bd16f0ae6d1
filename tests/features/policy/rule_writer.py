"""Random data rules over a generated schema, and their full evaluation by Cedar, entity by entity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import cedarpy

from omnigraph import Actor
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.cedar_text import listed, quoted
from omnigraph.policy.data.entity_types import attribute_type
from omnigraph.policy.data.partial import entities_json
from omnigraph.policy.read_bundle import parse_bundle
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.schema.catalog import Catalog, EdgeType
from tests.features.exec.generate import ENUM, TEXTS, Schema
from tests.features.exec.generate import Property as MadeProperty
from tests.features.exec.generate import Type as MadeType
from tests.features.exec.naive_values import Data

BUNDLE = """
version: 1
groups: {staff: [ann, bob], guests: [cleo]}
attributes: {team: String, level: Long, tags: Set<String>, is_lead: Bool}
actors:
  ann: {team: a, level: 1, tags: [a, ab], is_lead: true}
  bob: {level: 2}
rules:
  - id: reads
    allow: {actors: {group: staff}, actions: [read, change, export, branch_merge]}
  - id: guests-read
    allow: {actors: {group: guests}, actions: [read, export, branch_merge]}
"""
CHANGES = '\n@id("changes") permit (principal, action == Omnigraph::Action::"change_entity", resource);'
"""A rule by which every entity that is visible may be changed."""
ACTORS = ("ann", "bob", "cleo")
LONGS = ("I32", "I64", "U32")


def bundle_with(rules: str) -> Bundle:
    return parse_bundle(BUNDLE, data_rules=rules)


@dataclass
class RuleWriter:
    """Writes rules that validate: optional attributes are tested before they are read."""

    rng: Random
    schema: Schema

    def rules(self) -> str:
        types = [*self.schema.nodes.values(), *self.schema.edges.values()]
        lines = []
        if self.rng.random() < 0.3:
            lines.append('permit (principal, action == Omnigraph::Action::"read_entity", resource);')
        for type_ in types:
            # Most types are visible in part, some as a whole, and some not at all.
            roll = self.rng.random()
            if roll < 0.2:
                lines.append(self._rule("permit", "read_entity", type_, "true"))
            elif roll < 0.9:
                lines += [self._rule("permit", "read_entity", type_) for _ in range(self.rng.choice([1, 1, 2]))]
            if self.rng.random() < 0.3:
                lines.append(self._rule("forbid", "read_entity", type_))
        if self.rng.random() < 0.5:
            lines += self._property_rules(types)
        self.rng.shuffle(lines)
        return "\n".join(f'@id("r{number}") {line}' for number, line in enumerate(lines))

    def _rule(self, effect: str, action: str, type_: MadeType, test: str | None = None) -> str:
        who = self.rng.choice(["principal", "principal", 'principal in Omnigraph::Group::"staff"'])
        test = self._condition(type_, 2) if test is None else test
        if self.rng.random() < 0.5:
            head, body = f"resource is Data::{type_.name}", test
        else:
            head, body = "resource", f"resource is Data::{type_.name} && ({test})"
        word = "when"
        if self.rng.random() < 0.2:
            word, body = "unless", f"!({body})"
        return f'{effect} ({who}, action == Omnigraph::Action::"{action}", {head}) {word} {{ {body} }};'

    def _property_rules(self, types: list[MadeType]) -> Iterator[str]:
        yield 'permit (principal, action == Omnigraph::Action::"read_property", resource);'
        for _ in range(self.rng.randint(1, 3)):
            type_ = self.rng.choice(types)
            names = [prop.name for prop in type_.every] or ["p0"]
            test = f"{listed(self.rng.sample(names, min(len(names), 2)))}.contains(context.property)"
            if self.rng.random() < 0.5:
                test += ' && !(principal in Omnigraph::Group::"guests")'
            head = self.rng.choice(["resource", f"resource is Data::{type_.name}"])
            yield f'forbid (principal, action == Omnigraph::Action::"read_property", {head}) when {{ {test} }};'

    def _condition(self, type_: MadeType, depth: int) -> str:
        roll = self.rng.random()
        if depth and roll < 0.45:
            left, right = self._condition(type_, depth - 1), self._condition(type_, depth - 1)
            return self.rng.choice(
                [f"({left}) && ({right})", f"({left}) || ({right})", f"!({left})", self._choice(left, right)]
            )
        if roll < 0.6:
            return self._about_actor()
        known = [prop for prop in type_.every if prop.scalar in (*LONGS, "String", "Bool")]
        if not known or self.rng.random() < 0.15:
            return self._about_entity(type_)
        prop = self.rng.choice(known)
        test = self._test(prop, self.rng.choice(known))
        return self._guarded(prop, test) if prop.nullable else test

    def _choice(self, left: str, right: str) -> str:
        return f"if ({left}) then ({right}) else {self.rng.choice(['true', 'false'])}"

    def _guarded(self, prop: MadeProperty, test: str) -> str:
        has = f"resource has {prop.name}"
        return self.rng.choice([f"{has} && ({test})", f"if {has} then ({test}) else true", f"!({has} && {test})"])

    def _about_actor(self) -> str:
        return self.rng.choice(
            [
                'principal has team && principal.team == "a"',
                "principal has is_lead && principal.is_lead",
                'principal in Omnigraph::Group::"staff"',
                'context.branch == "main"',
                'principal == Omnigraph::Actor::"bob"',
                "true",
            ]
        )

    def _about_entity(self, type_: MadeType) -> str:
        name = self.rng.choice(["id", "src", "dst"] if type_.source else ["id"])
        ids = listed(self.rng.sample(["1", "2", "3", "true", "false", "k1", "k2", "e0", "e1", "e2", "ann"], 5))
        return self.rng.choice(
            [
                f"{ids}.contains(resource.{name})",
                f"resource.{name} == principal.id",
                f'resource == Data::{type_.name}::"1"',
                f'resource.{name} like "*{self.rng.choice("12ke")}*"',
                f'resource.{name} != "2"',
            ]
        )

    def _test(self, prop: MadeProperty, other: MadeProperty) -> str:
        read = f"resource.{prop.name}"
        if prop.is_list:
            one, two = (self._literal(prop) for _ in range(2))
            tests = [f"{read}.contains({one})", f"{read}.containsAny([{one}, {two}])", f"{read}.containsAll([{one}])"]
            if prop.scalar == "String":
                tests.append(f"principal has tags && {read}.containsAny(principal.tags)")
            return self.rng.choice(tests)
        if prop.scalar == "Bool":
            return self.rng.choice([read, f"!{read}", f"{read} == true"])
        tests = [f"{read} == {self._literal(prop)}", f"{read} != {self._literal(prop)}"]
        tests.append(f"[{self._literal(prop)}, {self._literal(prop)}].contains({read})")
        if prop.scalar == "String":
            tests += ["principal has team && principal.team == " + read, f'{read} like "a*"', f'{read} like "*b"']
        else:
            sign = self.rng.choice(["<", "<=", ">", ">="])
            tests += [f"{read} {sign} {self._literal(prop)}", f"principal has level && principal.level {sign} {read}"]
            if other.scalar in LONGS and not other.is_list and not other.nullable:
                tests.append(f"{read} {sign} resource.{other.name}")
        return self.rng.choice(tests)

    def _literal(self, prop: MadeProperty) -> str:
        if prop.enum:
            return quoted(self.rng.choice(ENUM))
        match prop.scalar:
            case "String":
                return quoted(self.rng.choice(TEXTS))
            case "Bool":
                return self.rng.choice(["true", "false"])
            case _:
                return str(self.rng.choice([-7, -1, 0, 1, 2, 3, 7, 2**31, 2**53 + 1]))


@dataclass
class FullEvaluation:
    """Cedar's own decision about every entity and property, one request each."""

    catalog: Catalog
    bundle: Bundle
    rules: str
    actor: str
    branch: str

    def visible(self, data: Data) -> Data:
        """The entities that the actor may read; an edge needs both of its ends."""
        found = Data()
        for name, node in self.catalog.nodes.items():
            shown = self._allowed(node, {id_: {ID: id_, **row} for id_, row in data.nodes[name].items()})
            found.nodes[name] = {id_: row for id_, row in data.nodes[name].items() if id_ in shown}
        for name, edge in self.catalog.edges.items():
            rows = data.edges[name]
            known = {id_: {ID: id_, SRC: src.id, DST: dst.id, **row} for id_, (src, dst, row) in rows.items()}
            shown = self._allowed(edge, known)
            found.edges[name] = {
                id_: row
                for id_, row in rows.items()
                if id_ in shown and all(node.id in found.nodes[node.type] for node in row[:2])
            }
        return found

    def shows_property(self, entity: Entity, name: str) -> bool:
        if "read_property" not in self.rules:
            return True
        context = {"branch": self.branch, "property": name}
        # The decision may not depend on the entity, so any will do.
        request = self._request("read_property", entity, "any", context)
        return bool(self._answers([request])[0])

    def _allowed(self, entity: Entity, rows: Mapping[str, Mapping[str, Any]]) -> set[str]:
        if not rows:
            return set()
        requests = [self._request("read_entity", entity, id_, {"branch": self.branch}) for id_ in rows]
        resources = [
            {"uid": _uid(entity, id_), "attrs": dict(_attributes(entity, row)), "parents": []}
            for id_, row in rows.items()
        ]
        answers = self._answers(requests, resources)
        return {id_ for id_, allowed in zip(rows, answers, strict=True) if allowed}

    def _request(self, action: str, entity: Entity, id_: str, context: Mapping[str, str]) -> dict[str, Any]:
        return {
            "principal": {"type": "Omnigraph::Actor", "id": self.actor},
            "action": {"type": "Omnigraph::Action", "id": action},
            "resource": _uid(entity, id_),
            "context": dict(context),
        }

    def _answers(self, requests: list[dict[str, Any]], resources: list[dict[str, Any]] | None = None) -> list[bool]:
        import json

        actor = Actor(self.actor)
        known = json.loads(entities_json(actor, self.bundle.groups_of(actor), self.bundle.attributes_of(actor)))
        answers = cedarpy.is_authorized_batch(requests, self.rules, json.dumps([*known, *(resources or [])]))
        for answer in answers:
            assert not answer.diagnostics.errors, answer.diagnostics.errors
        return [answer.allowed for answer in answers]


def _uid(entity: Entity, id_: str) -> dict[str, str]:
    return {"type": f"Data::{entity.name}", "id": id_}


def _attributes(entity: Entity, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    fixed = (ID, SRC, DST) if isinstance(entity, EdgeType) else (ID,)
    for name, value in row.items():
        if name in fixed or (value is not None and attribute_type(entity.properties[name].type) is not None):
            yield name, value
