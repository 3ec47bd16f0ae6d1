"""Tools for agents under rules about data: each answers from the part of its caller, or is denied."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.mcp.resources import RESOURCES
from omnigraph.mcp.tools import TOOLS

mcp = pytest.importorskip("mcp")

from tests.features.mcp.test_tools import Agent  # noqa: E402 # after the library that it needs

SCHEMA = "node Person { name: String @key  team: String?  salary: I64? }\nnode Secret { name: String @key }\n"
EDGES = "edge Knows: Person -> Person\nedge Keeps: Person -> Secret\n"
POLICY = """
version: 1
groups: {staff: [ann]}
rules:
  - id: staff
    allow:
      actors: {group: staff}
      actions: [read, change, export, branch_create, branch_delete, branch_merge, schema_apply, admin]
data_rules: |
  permit (principal, action in [Omnigraph::Action::"read_entity", Omnigraph::Action::"change_entity"],
          resource is Data::Person) when { resource has team && resource.team == "red" };
  permit (principal, action in [Omnigraph::Action::"read_entity", Omnigraph::Action::"change_entity"],
          resource is Data::Knows);
  permit (principal, action == Omnigraph::Action::"read_property", resource) unless { context.property == "salary" };
"""
HIDDEN = re.compile(r"\b(cleo|vault|Secret|Keeps|salary|4711)\b")
NEW = {"type": "Person", "data": {"name": "dan", "team": "red"}}
TASK = {"task": ""}

CALLS: dict[str, dict[str, Any]] = {
    "describe_graph": {},
    "find": {"text": "cleo"},
    "get": {"type": "Person", "id": "ann"},
    "paths": {"start": {"type": "Person", "id": "ann"}, "end": {"type": "Person", "id": "bob"}},
    "query": {"text": "query q() { match { $p: Person } return { $p.* as person } }"},
    "history": {},
    "diff": {"before": "main~1"},
    "start_task": {"goal": "look around"},
    "write": {**TASK, "upserts": [NEW]},
    "mutate": {**TASK, "text": "query q() { update Person set {team: team} where name is not null }"},
    "preview_merge": TASK,
    "finish_task": TASK,
    "undo_task": TASK,
}
"""The arguments of each tool; the task is one of the actor."""


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    (tmp_path / "policy.yaml").write_text(POLICY)
    plain = omnigraph.create(tmp_path / "kb.omni", SCHEMA + EDGES)
    people = [("ann", "red"), ("bob", "red"), ("cleo", "blue")]
    plain.load(
        {
            "Person": [{"name": name, "team": team, "salary": 4711} for name, team in people],
            "Secret": [{"name": "vault"}],
            "Knows": [{"src": "ann", "dst": "cleo"}, {"src": "cleo", "dst": "bob"}],
            "Keeps": [{"src": "ann", "dst": "vault"}],
        }
    )
    return omnigraph.open(plain.uri, policy=tmp_path / "policy.yaml", actor="ann")


def test_every_tool_is_decided_upon() -> None:
    assert set(CALLS) == {tool.name for tool in TOOLS}


@pytest.mark.parametrize("name", CALLS)
def test_no_tool_shows_more_than_the_part_of_its_caller(name: str, graph: omnigraph.Graph) -> None:
    agent = Agent(graph, allow_writes=True, allow_main=True)
    arguments = CALLS[name]
    if "task" in arguments:
        started = agent.run(lambda client: client.call_tool("start_task", {"goal": "change something"}))
        arguments = {**arguments, "task": started.structured_content["task"]}
    found = agent.run(lambda client: client.call_tool(name, arguments))
    text = "\n".join(part.text for part in found.content)
    assert not HIDDEN.search(f"{text} {found.structured_content}".replace(str(arguments), ""))
    assert not found.is_error, text


@pytest.mark.parametrize("name", [resource.name for resource in RESOURCES])
def test_no_resource_shows_more_than_the_part_of_its_caller(name: str, graph: omnigraph.Graph) -> None:
    (resource,) = (one for one in RESOURCES if one.name == name)
    address = resource.address.format(name="Person", id=graph.branches()[0].head)
    found = Agent(graph).run(lambda client: client.read_resource(address)).contents
    assert not HIDDEN.search(str(found))


def test_an_agent_reads_and_writes_the_part_of_its_caller(graph: omnigraph.Graph) -> None:
    agent = Agent(graph, allow_writes=True)
    read = "query q() { match { $p: Person } return { $p.name } order { $p.name } }"
    assert agent.call("query", text=read)["rows"] == [{"p.name": "ann"}, {"p.name": "bob"}]
    task = agent.call("start_task", goal="add dan")
    agent.call("write", task=task["task"], upserts=[NEW], deletes=[{"type": "Person", "id": "bob"}])
    assert agent.call("query", text=read, at=task["branch"])["rows"] == [{"p.name": "ann"}, {"p.name": "dan"}]
    stranger = {"type": "Person", "data": {"name": "eve", "team": "blue"}}
    assert "data rules do not allow the change" in agent.refusal("write", task=task["task"], upserts=[stranger])
    unknown = {"type": "Secret", "data": {"name": "mine"}}
    assert "Secret" in agent.refusal("write", task=task["task"], upserts=[unknown])
