"""Random branches that break constraints together, settled by random rules: what is merged is a valid graph."""

import random
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import MergeConflicts, ViolationError
from tests.features.merge.model import SCHEMA, broken
from tests.features.merge.test_laws import parse
from tests.promises.protocol.graphs import create, edge

PEOPLE = [f"p{number}" for number in range(7)]
FIRMS = ["f0", "f1"]
EMAILS = [f"e{number}" for number in range(5)]
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "orphan_edge": [{"take": "source"}, {"take": "target"}, {"take": "delete"}],
    "unique_violation": [{"take": "source"}, {"take": "target"}, {"take": "delete"}, {"value": None}],
    "cardinality_violation": [{"take": "source"}, {"take": "target"}],
    "value_constraint_violation": [{"take": "delete"}, {"value": None}],
}


def started(path: Path, chance: random.Random) -> omnigraph.Graph:
    graph = create(path, SCHEMA)
    people = [{"type": "Person", "data": {"name": name, "visits": 0}} for name in PEOPLE[:5]]
    firms = [{"type": "Firm", "data": {"name": name}} for name in FIRMS]
    knows = [edge("Knows", *chance.choices(PEOPLE[:5], k=2), f"k{number}") for number in range(4)]
    works = [edge("WorksAt", PEOPLE[number], chance.choice(FIRMS), f"w{number}") for number in (0, 1)]
    graph.load([*people, *firms, *knows, *works])
    graph.create_branch("b")
    return graph


def edit(graph: omnigraph.Graph, branch: str, chance: random.Random) -> None:
    """Deletions, people with other values, and edges between whoever is there."""
    for share, type_, name in ((0.5, "Person", chance.choice(PEOPLE[:5])), (0.2, "Firm", "f1")):
        if chance.random() < share:
            graph.mutate(f'query q() {{ delete {type_} where name = "{name}" }}', branch=branch)
    emails = chance.sample(EMAILS, 3)
    values = [{"email": email, "visits": chance.randrange(-40, 45), "age": chance.randrange(3)} for email in emails]
    names = chance.sample(PEOPLE, 3)
    graph.load(
        [{"type": "Person", "data": {"name": name, **value}} for name, value in zip(names, values, strict=True)],
        branch=branch,
    )
    there = parse(graph, branch)
    people, firms = sorted(there["Person"]), sorted(there["Firm"])
    numbers = chance.sample(range(8), 3)
    graph.load(
        [edge("Knows", *chance.choices(people, k=2), f"k{number}", since=1) for number in numbers], branch=branch
    )
    for name in chance.sample(people, 2):
        try:
            graph.load([edge("WorksAt", name, chance.choice(firms), f"{branch}-{name}")], branch=branch)
        except ViolationError:
            continue  # they work somewhere already


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 200))])
def test_what_is_settled_at_random_is_a_valid_graph(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    graph = started(tmp_path, chance)
    for branch in ("main", "b"):
        edit(graph, branch, chance)
    rules: list[dict[str, Any]] = [{"take": chance.choice(["source", "target"])}]
    rules += [{"kind": kind, **chance.choice(answers)} for kind, answers in ANSWERS.items()]
    assert graph.merge_preview("b").conflicts, "else there is nothing to settle"
    preview = graph.merge_preview("b", resolutions=rules)
    before = parse(graph, "main")
    if preview.conflicts:
        with pytest.raises(MergeConflicts):
            graph.merge("b", resolutions=rules)
        assert parse(graph, "main") == before
        return
    result = graph.merge("b", resolutions=rules)
    after = parse(graph, "main")
    assert not broken(after)
    assert (result.outcome, result.tables) == (preview.outcome, preview.tables)
    for table in result.tables:
        old, new = (tables[table.key.split(":")[1]] for tables in (before, after))
        changed = sum(old[id_] != new[id_] for id_ in old.keys() & new.keys())
        counted = (table.inserted, table.updated, table.deleted)
        assert table.adopted or counted == (len(new.keys() - old.keys()), changed, len(old.keys() - new.keys()))
    assert graph.verify(deep=True).is_clean
