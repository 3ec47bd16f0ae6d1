"""Budgets of answers hold, whatever the graph holds and the caller sends."""

from __future__ import annotations

import json
from typing import Any

import pytest

import omnigraph
from omnigraph.mcp import budget
from omnigraph.mcp.budget import CHARACTERS_PER_TOKEN, compact, fit, shorten, squeeze, tokens
from tests.features.mcp.test_tools import Agent

mcp = pytest.importorskip("mcp")

COLUMNS = 120
SCHEMA = "\n".join(
    [
        "node Person { name: String @key",
        "  age: I64?",
        "  tags: [String]?",
        "  numbers: [I64]?",
        "  details: Json?",
        *(f"  text{number}: String?" for number in range(COLUMNS)),
        "}",
        "edge Knows: Person -> Person { notes: [String]? }",
        *(f"node Type{number} {{ name: String @key }}" for number in range(150)),
    ]
)
LONG = "x" * 100_000
HEADER = 400
"""Tokens of an answer besides what its budget counts: the commit, the counts and the notes."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    """A graph with one node that is too large for any answer."""
    graph = omnigraph.create(tmp_path_factory.mktemp("budgets") / "kb.omni", SCHEMA)
    big = {
        "name": "big",
        "tags": [f"tag {number}" for number in range(20_000)],
        "numbers": list(range(20_000)),
        "details": {f"member {number}": number for number in range(20_000)},
        **{f"text{number}": "word " * 2_000 for number in range(COLUMNS)},
    }
    people: list[dict[str, Any]] = [{"type": "Person", "data": {"name": f"p{number}"}} for number in range(2_000)]
    knows = [{"edge": "Knows", "from": "big", "to": "p1", "data": {"notes": [f"note {n}" for n in range(20_000)]}}]
    others = [{"type": f"Type{number}", "data": {"name": "a"}} for number in range(150)]
    graph.load([*people, {"type": "Person", "data": big}, *knows, *others], "append")
    return graph


@pytest.fixture(scope="module")
def agent(graph: omnigraph.Graph) -> Agent:
    return Agent(graph, "query by_age() { match { $p: Person } return { $p.* } }", allow_writes=True)


BIG = 'query q() { match { $p: Person { name: "big" } } return { $p.* } }'
ENDS = {"start": {"type": "Person", "id": "big"}, "end": {"type": "Person", "id": "p1"}}


@pytest.mark.parametrize(
    ("tool", "arguments", "tokens_max"),
    [
        ("describe_graph", {}, 2_000),
        ("describe_graph", {"type": "Person"}, 2_000),
        ("find", {"text": "word"}, 3_000),
        ("get", {"type": "Person", "id": "big"}, 4_000),
        ("paths", ENDS, 1_000),
        ("query", {"text": BIG}, 5_000),
        ("query", {"text": "query q() { match { $p: Person } return { collect($p.name) as names } }"}, 5_000),
        ("by_age", {}, 5_000),
        ("history", {}, 4_000),
        ("diff", {"before": "main~1"}, 5_000),
    ],
)
def test_a_read_holds_its_budget_and_says_what_is_cut(
    agent: Agent, tool: str, arguments: dict[str, Any], tokens_max: int
) -> None:
    result = agent.raw(tool, **arguments)
    assert not result.is_error
    assert len(result.content[0].text) / CHARACTERS_PER_TOKEN <= tokens_max + HEADER
    if tool not in ("paths", "history"):
        assert result.structured_content["truncated"]


def test_values_that_are_cut_can_be_read_in_parts(agent: Agent) -> None:
    assert any("[0:20]" in note for note in agent.call("query", text=BIG)["truncated"])
    part = agent.call("query", text=BIG.replace("$p.*", "$p.tags[100:103], substring($p.text0, 0, 9)"))
    assert "truncated" not in part
    assert list(part["rows"][0].values()) == [["tag 100", "tag 101", "tag 102"], "word word"]


def test_a_cursor_passes_rows_that_are_too_large(agent: Agent) -> None:
    text = "query q() { match { $p: Person } return { $p.name, $p.tags, $p.details } order { $p.name } limit 40 }"
    answer = agent.call("query", text=text, limit=20)
    rows = list(answer["rows"])
    while "next" in answer:
        answer = agent.call("query", text=text, limit=20, cursor=answer["next"])
        rows += answer["rows"]
    assert len(rows) == 40
    assert rows[0]["p.name"] == "big"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("describe_graph", {"type": LONG}),
        ("find", {"text": "x", "types": [LONG]}),
        ("get", {"type": "Person", "id": LONG}),
        ("get", {"type": LONG, "id": "big"}),
        ("query", {"text": f"query q() {{ match {{ $p: {LONG[:50_000]} }} return {{ $p }} }}"}),
        ("query", {"text": BIG, "at": LONG}),
        ("query", {"text": BIG, "cursor": LONG}),
        ("query", {"text": BIG, "cursor": "main:" + "9" * 5_000}),
        ("query", {"text": BIG, "cursor": "main:²"}),
        ("query", {"text": BIG, "at": "main~" + "9" * 5_000}),
        ("history", {"branch": LONG}),
        ("diff", {"before": "main" + "^" * 50_000}),
        ("write", {"task": LONG, "upserts": [{"type": "Person", "data": {"name": "x"}}]}),
        ("write", {"task": "x", "upserts": [{"type": "Person", "wrong": 1}] * 1_000}),
    ],
)
def test_a_refusal_is_short_whatever_was_sent(agent: Agent, tool: str, arguments: dict[str, Any]) -> None:
    refusal = agent.refusal(tool, **arguments)
    assert len(refusal) <= budget.REFUSAL_HEAD + budget.REFUSAL_TAIL + 10


def test_a_refusal_keeps_the_problem_and_the_hint(agent: Agent) -> None:
    refusal = agent.refusal("query", text=BIG.replace("$p.*", f"$p.nme, {', '.join(['$p.name'] * 2_000)}"))
    assert "has no property `nme`" in refusal
    assert "did you mean `name`?" in refusal


@pytest.mark.parametrize("address", [f"omnigraph://type/{LONG}", f"file:///{LONG}", f"omnigraph://commit/{LONG}"])
def test_an_unknown_resource_is_refused_briefly(agent: Agent, address: str) -> None:
    with pytest.raises(mcp.MCPError) as refused:
        agent.run(lambda client: client.read_resource(address))
    assert len(str(refused.value)) <= budget.REFUSAL_HEAD + budget.REFUSAL_TAIL + 10


def test_writes_to_many_entities_are_answered_within_the_budget(agent: Agent) -> None:
    task = agent.call("start_task", goal="many")["task"]
    text = 'query m() { update Person set { age: 1 } where name != "x" returning { name, tags, details } }'
    answers = [
        agent.call("mutate", task=task, text=text),
        agent.call("write", task=task, upserts=[{"type": f"Type{n}", "data": {"name": "b"}} for n in range(150)]),
        agent.call("preview_merge", task=task),
        agent.call("finish_task", task=task),
    ]
    for answer in answers:
        assert tokens(answer) <= 4_000 + HEADER
    assert any("returned rows are shown" in note for note in answers[0]["truncated"])
    assert any("more types changed" in note for note in answers[2]["truncated"])
    agent.call("undo_task", task=task)


@pytest.mark.parametrize(
    "value",
    [
        {"a": LONG, "b": [LONG] * 1_000},
        {f"{number}": LONG for number in range(5_000)},
        {LONG: 1},
        {"a": {f"{number}": number for number in range(100_000)}, "b": 1},
        [[["deep"] * 1_000] * 1_000],
        LONG,
    ],
)
def test_a_squeezed_value_fits(value: Any) -> None:
    small = squeeze(value, 500)
    assert tokens(small) <= 500
    assert json.loads(compact(small)) == small


def test_a_value_that_fits_is_not_changed() -> None:
    value = {"a": ["x"] * 50, "b": {"c": 1.5}, "d": "x" * 200}
    assert shorten(value) == value
    assert squeeze(value, 500) == value
    assert fit([value, value], 500).items == [value, value]
