"""Merges of generated JSON values under ``@merge(keys)``, compared with a model over Python's values."""

from __future__ import annotations

import copy
from pathlib import Path
from random import Random
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import MergeConflicts

SCHEMA = "node Page { name: String @key  data: Json? @merge(keys) }"
NOTHING = object()
"""No member, or no value."""


class ConflictError(Exception):
    """Both sides changed a part differently."""


def made(rng: Random, depth: int = 2) -> Any:
    kind = rng.randrange(7 if depth else 4)
    if kind == 0:
        return rng.choice([0, 1, 1.5, True])
    if kind == 1:
        return rng.choice(["", "x", "é"])
    if kind == 2:
        return [1, {"a": 1}][: rng.randrange(3)]
    if kind == 3:
        return {}
    return {name: made(rng, depth - 1) for name in rng.sample("abcd", rng.randrange(1, 4))}


def edited(rng: Random, value: Any) -> Any:
    """The value with a change somewhere, or without one."""
    if not isinstance(value, dict) or rng.random() < 0.2:
        return made(rng) if rng.random() < 0.4 else copy.deepcopy(value)
    changed = copy.deepcopy(value)
    for name in rng.sample("abcd", 2):
        step = rng.random()
        if step < 0.3:
            changed.pop(name, None)
        elif step < 0.6:
            changed[name] = made(rng, 1)
        elif name in changed:
            changed[name] = edited(rng, changed[name])
    return changed


def same(left: Any, right: Any) -> bool:
    """Equality that tells true from 1 and knows nothing about an absent value but itself."""
    if type(left) in (int, float) and type(right) in (int, float):
        return float(left) == float(right)
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def merged(base: Any, source: Any, target: Any) -> Any:
    if same(source, base):
        return target
    if same(target, base) or same(source, target):
        return source
    if not (isinstance(source, dict) and isinstance(target, dict)):
        raise ConflictError
    old = base if isinstance(base, dict) else {}
    parts = {
        name: merged(old.get(name, NOTHING), source.get(name, NOTHING), target.get(name, NOTHING))
        for name in {*source, *target}
    }
    return {name: part for name, part in parts.items() if part is not NOTHING}


def contents(graph: omnigraph.Graph, branch: str = "main") -> dict[str, Any]:
    rows = graph.query("match { $p: Page } return { $p.name as name, $p.data as data }", branch=branch).to_dicts()
    return {row["name"]: row["data"] for row in rows}


def put(graph: omnigraph.Graph, values: dict[str, Any], branch: str = "main") -> None:
    graph.load(
        [{"type": "Page", "data": {"name": name, "data": value}} for name, value in values.items()], branch=branch
    )


@pytest.mark.parametrize("optimized", [False, True])
def test_generated_objects_are_merged_by_member_as_the_model_says(tmp_path: Path, optimized: bool) -> None:
    rng = Random(f"keys/{optimized}")
    base = {f"p{number}": made(rng) for number in range(150)}
    sides = [{name: edited(rng, value) for name, value in base.items()} for _ in range(2)]
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    put(graph, base)
    graph.create_branch("b")
    put(graph, sides[0], "b")
    put(graph, sides[1])
    if optimized:
        graph.optimize("b")
        graph.optimize()
    wanted: dict[str, Any] = {}
    conflicting: set[str] = set()
    for name, value in base.items():
        try:
            wanted[name] = merged(value, sides[0][name], sides[1][name])
        except ConflictError:
            conflicting.add(name)
            wanted[name] = sides[1][name]
    assert len(conflicting) > 10
    assert sum(not same(wanted[name], sides[1][name]) for name in base) > 20
    with pytest.raises(MergeConflicts) as caught:
        graph.merge("b")
    assert {conflict.id for conflict in caught.value.conflicts} == conflicting
    assert same(contents(graph), sides[1]), "a refused merge changes nothing"
    put(graph, {name: base[name] for name in conflicting}, "b")
    graph.merge("b")
    assert same(contents(graph), wanted)
