"""Scoped queries give what a naive evaluator finds among the entities that Cedar permits one by one."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.core.actors import Action
from omnigraph.engine.graph import create
from omnigraph.engine.query.at_once import query_at_once
from omnigraph.errors import CompileError, OmnigraphError, ParameterError
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.policy import Policy
from omnigraph.query.compile import compile_text
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept
from tests.features.exec.anchored import AnchoredWriter
from tests.features.exec.compare import assert_same, expected, read_data
from tests.features.exec.generate import Query, Schema, Type, Writer, make_schema
from tests.features.exec.naive import TooLarge
from tests.features.exec.naive_values import Data
from tests.features.exec.people import NOW_MS, FixedClock
from tests.features.exec.test_differential import Place, places, read_differently
from tests.features.policy.rule_paths import Seen, SeenMerge, changes_between, check_merge, merged_by_owner
from tests.features.policy.rule_writer import ACTORS, CHANGES, FullEvaluation, RuleWriter, bundle_with
from tests.support.sampling import sampled

CASES = int(os.environ.get("OMNIGRAPH_RULE_CASES", "5000"))


def shown_schema(schema: Schema, catalog: Catalog, evaluation: FullEvaluation, scope: DataScope | None) -> Schema:
    """The schema without what the actor may not see, as if it had never been declared."""

    def shown(type_: Type, kind: str) -> Type:
        entity = catalog.nodes[type_.name] if kind == "node" else catalog.edges[type_.name]
        kept = [prop for prop in type_.properties if evaluation.shows_property(entity, prop.name)]
        key = type_.key if type_.key is not None and evaluation.shows_property(entity, "key") else None
        return dataclasses.replace(type_, properties=kept, key=key)

    def is_known(key: str) -> bool:
        return scope is None or key in scope.types

    nodes = {name: shown(type_, "node") for name, type_ in schema.nodes.items() if is_known(f"node:{name}")}
    edges = {
        name: shown(type_, "edge")
        for name, type_ in schema.edges.items()
        if is_known(f"edge:{name}") and {type_.source, type_.target} <= nodes.keys()
    }
    implementers = [{prop.name for prop in node.properties} for node in nodes.values() if node.implements]
    common = set.intersection(*implementers) if implementers else set()
    shared = [prop for prop in schema.interface.properties if prop.name in common]
    return Schema(nodes, edges, dataclasses.replace(schema.interface, properties=shared))


def declared(seen: Schema) -> str:
    """The text of a schema, without an interface that no type implements."""
    has_interface = any(node.implements for node in seen.nodes.values())
    return seen.text if has_interface else seen.text.partition("\n")[2]


def shown_data(visible: Data, seen: Schema) -> Data:
    """The visible entities with the properties of the visible schema alone, as entities that are values show them."""

    def shown(type_: Type, values: dict[str, Any]) -> dict[str, Any]:
        return {prop.name: values[prop.name] for prop in type_.every}

    nodes = {
        name: {id_: shown(type_, values) for id_, values in visible.nodes[name].items()}
        for name, type_ in seen.nodes.items()
    }
    edges = {
        name: {id_: (row[0], row[1], shown(type_, row[2])) for id_, row in visible.edges[name].items()}
        for name, type_ in seen.edges.items()
    }
    return dataclasses.replace(visible, nodes=nodes, edges=edges)


def refused(query: Query, known: Catalog) -> str | None:
    """The diagnostics of a query where only what the actor may see was ever declared."""
    try:
        compile_text(query.text, known)
    except CompileError as error:
        return str(error)
    return None


def check(graph: Graph, place: Place, visible: Data, query: Query, known: Catalog, way: int) -> str:
    """Ask the graph as an actor, and the naive evaluator about the visible entities; what came of it."""
    refusal = refused(query, known)
    if refusal is not None:
        # What the actor may not see gives the diagnostics of a name that does not exist, to the letter.
        with pytest.raises(CompileError) as found:
            graph.query(query.text, query.params, **place.where)
        assert str(found.value) == refusal
        return "hidden"
    try:
        answer, naive = expected(known, visible, query.text, query.values, NOW_MS)
    except TooLarge:
        return "too large"
    try:
        with read_differently(graph, way):
            result = graph.query(query.text, query.params, **place.where)
    except ParameterError:
        return "refused"
    assert_same(result, answer, naive)
    # From the second run on, a plan may run as closures.
    assert_same(graph.query(query.text, query.params, **place.where), answer, naive)
    assert_same(graph.query(query.text, query.params, **place.where), answer, naive)
    at_once = query_at_once(graph, query.text, query.params, branch=place.where.get("branch", ""))
    if at_once is not None:
        assert_same(at_once, answer, naive)
    return "rows" if answer.rows else "no rows"


def check_side(graph: Graph, schema: Schema, rules: str, actor: str, target: str) -> str:
    """Merge the branch ``side`` into a copy of ``main`` as an actor; what came of it."""
    policy = Policy(bundle_with(rules + CHANGES))
    graph.create_branch(target)
    after = merged_by_owner(graph, "side", target)
    if after is None:
        return "merge impossible"
    acting, catalog = graph.under(policy).acting_as(actor), graph.snapshot(target).catalog
    assert acting.actor is not None
    there, here = (
        FullEvaluation(catalog, bundle_with(rules + CHANGES), rules + CHANGES, actor, branch)
        for branch in ("side", target)
    )
    seen = shown_schema(schema, catalog, here, policy.scope(acting.actor, Action.READ, target, catalog))
    data = (read_data(graph.snapshot(target)), read_data(graph.snapshot("side")), after)
    return check_merge(graph, SeenMerge(policy, actor, "side", target, *data, seen, schema, here, there))


def rng_of(*parts: int) -> Random:
    return Random("/".join(map(str, parts)))


def sweep(seed: int, path: Path, *, rule_sets: int, queries: int, places_max: int) -> Counter[str]:
    """One schema and graph, some sets of rules and actors, and queries of each of them."""
    rng = Random(seed)
    schema = make_schema(rng)
    graph = create(path / f"g{seed}", schema.text, durability="os", clock=FixedClock())
    tally: Counter[str] = Counter()
    first: tuple[str, Data] | None = None
    for number, place in enumerate(places(rng, graph, schema)):
        if number == places_max:
            break
        first = first or (graph.snapshot().commit_id, place.data)
        branch = place.where.get("branch", "main")
        for turn in range(rule_sets):
            rules = RuleWriter(Random(f"{seed}/{number}/{turn}"), schema).rules()
            bundle, actor = bundle_with(rules), ACTORS[(seed + number + turn) % 3]
            policy, catalog = Policy(bundle), graph.snapshot(**place.where).catalog
            try:
                policy.check_catalog(catalog)
            except OmnigraphError as error:
                error.add_note(f"seed {seed}, place {number}, rules {turn}\n{schema.text}\n{rules}")
                raise
            evaluation = FullEvaluation(catalog, bundle, rules, actor, branch)
            visible = evaluation.visible(place.data)
            acting = graph.under(policy).acting_as(actor)
            assert acting.actor is not None
            scope = policy.scope(acting.actor, Action.READ, branch, catalog)
            seen = shown_schema(schema, catalog, evaluation, scope)
            if scope is not None:
                hidden = {key for key in [f"node:{name}" for name in schema.nodes] if key not in scope.types}
                assert not any(visible.nodes[key.partition(":")[2]] for key in hidden)
            if not seen.nodes:
                tally["nothing visible"] += 1
                continue
            tally["restricted" if scope is not None else "everything visible"] += 1
            tally["ways"] += Seen(acting, place.where, place.data, visible, seen).check(
                rng_of(seed, number, turn), graph
            )
            if number == 2:
                tally[check_side(graph, schema, rules, actor, f"target-{turn}")] += 1
            if number == 1:
                before = (first[1], evaluation.visible(first[1]))
                changes = {(change.op.value, change.type_name, change.id) for change in acting.diff(first[0]).changes()}
                assert changes == changes_between(before, (place.data, visible), seen)
                tally["changes"] += len(changes)
            shown = shown_data(visible, seen)
            known = Catalog(accept(parse_schema(Source(declared(seen))), domain="D"))
            for index in range(queries):
                # Some queries are written for the whole schema, and name what the actor may not see.
                written_for = schema if index % 7 == 6 or not seen.edges else seen
                writer = AnchoredWriter if index % 3 == 2 else Writer
                query = writer(Random(f"{seed}/{number}/{turn}/{index}"), written_for).query()
                try:
                    tally[check(acting, place, shown, query, known, index % 16)] += 1
                except Exception as error:
                    error.add_note(f"seed {seed}, place {number} {place.where}, rules {turn}, query {index}")
                    error.add_note(f"{schema.text}\n{rules}\n{actor}\n{query.text}\n{query.params}")
                    raise
    return tally


def compared(tally: Counter[str]) -> int:
    """The answers that were compared."""
    return tally["rows"] + tally["no rows"] + tally["hidden"]


@pytest.mark.parametrize("seed", sampled(range(3), 2))
def test_scoped_queries_give_what_cedar_permits_row_by_row(seed: int, tmp_path: Path) -> None:
    tally = sweep(seed, tmp_path, rule_sets=2, queries=10, places_max=3)
    assert compared(tally) > 20, tally
    assert tally["rows"] > 5, tally


@pytest.mark.long
@pytest.mark.part("data-rules")
def test_scoped_queries_give_what_cedar_permits_row_by_row_in_thousands_of_cases(tmp_path: Path) -> None:
    seed, total = 1000, Counter[str]()
    while compared(total) < CASES:
        total += sweep(seed, tmp_path, rule_sets=3, queries=16, places_max=6)
        seed += 1
    print(f"{compared(total)} cases, seeds up to {seed}: {dict(total)}")
    assert total["rows"] > CASES // 10, total
