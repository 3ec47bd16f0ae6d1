"""Bundles from YAML: a closed form, and all problems of a text in one error."""

from pathlib import Path

import pytest

from omnigraph.core.actors import Action, Actor
from omnigraph.errors import NotFoundError, PolicyInvalid, UsageError
from omnigraph.policy.actions import ACTIONS, Resource
from omnigraph.policy.bundle import ANY_BRANCH, AttributeType, BranchScope, BranchTest, Effect, Rule
from omnigraph.policy.read_bundle import parse_bundle, read_bundle

BUNDLE = """
version: 1
groups: { admins: [act-a], team: [act-b, act-c] }
protected_branches: [main]
rules:
  - id: team-write-unprotected
    allow: { actors: {group: team}, actions: [change], branch_scope: unprotected }
"""


def test_actions_are_those_of_the_reference() -> None:
    rows = {
        action.value: (info.resource.entity_type, info.has_branch, info.has_target_branch)
        for action, info in ACTIONS.items()
    }
    assert rows == {
        "read": ("Graph", True, False),
        "export": ("Graph", True, False),
        "change": ("Graph", True, False),
        "schema_apply": ("Graph", False, True),
        "branch_create": ("Graph", False, True),
        "branch_delete": ("Graph", False, True),
        "branch_merge": ("Graph", False, True),
        "admin": ("Graph", False, False),
        "invoke_query": ("Graph", False, False),
        "graph_list": ("Server", False, False),
    }
    assert ACTIONS.keys() == set(Action)


def test_a_bundle_of_the_reference_is_read() -> None:
    bundle = parse_bundle(BUNDLE)
    assert bundle.groups == {"admins": {"act-a"}, "team": {"act-b", "act-c"}}
    assert bundle.protected_branches == {"main"}
    assert bundle.resource is Resource.GRAPH
    unprotected = BranchTest(BranchScope.UNPROTECTED)
    assert bundle.rules == (Rule("team-write-unprotected", Effect.ALLOW, "team", (Action.CHANGE,), unprotected),)


def test_additions_are_read_where_they_are_written() -> None:
    bundle = parse_bundle("""
version: 1
groups: { team: [ann] }
token_groups: [staff]
attributes: { team: String, level: Long, on_call: Bool, tags: Set<String>, rooms: Set<Long> }
actors:
  ann: { team: red, level: 3, on_call: true, tags: [a, b], rooms: [1, 2] }
rules:
  - id: agents
    allow: { actors: {group: staff}, actions: [branch_create, branch_merge], target_branch_patterns: ["agent/*"] }
  - id: reads
    allow: { actors: {group: staff}, actions: [read], branch_patterns: ["a*", b] }
  - id: top
    allow: { actors: {group: team}, actions: [invoke_query], queries: [top, bottom] }
  - id: no-export
    forbid: { actors: {group: team}, actions: [export] }
""")
    agents, reads, top, no_export = bundle.rules
    assert agents.target_branch.patterns == ("agent/*",)
    assert agents.branch == ANY_BRANCH
    assert reads.branch.patterns == ("a*", "b")
    assert top.queries == ("top", "bottom")
    assert no_export.effect is Effect.FORBID
    assert bundle.attributes["tags"] is AttributeType.STRINGS
    assert bundle.attributes_of(Actor("ann")) == {
        "team": "red", "level": 3, "on_call": True, "tags": {"a", "b"}, "rooms": {1, 2},
    }  # fmt: skip
    # A bundle's own facts about an actor are stronger than its token, and undeclared attributes do not count.
    token = Actor("ann", {"staff", "unknown"}, {"team": "blue", "title": "Dr"})
    assert bundle.attributes_of(token)["team"] == "red"
    assert "title" not in bundle.attributes_of(token)
    assert bundle.groups_of(token) == {"team", "staff"}
    assert bundle.groups_of(Actor("bob", {"team"})) == {"team"}
    assert bundle.groups_of(Actor("bob")) == set()


def rule(text: str) -> str:
    return f"version: 1\ngroups: {{ team: [ann] }}\nrules:\n  - {text}\n"


PROBLEMS = {
    "version: 2": "version must be 1, not 2",
    "groups: {}": "version must be 1, not None",
    "version: true": "version must be 1, not True",
    "[]": "the file must be a mapping",
    "version: 1\nversions: 2": "the file has the unknown key 'versions'; did you mean `version`?",
    "version: 1\ngroups: { team: [] }": "groups.team has no actors",
    "version: 1\ngroups: { team: }": "groups.team has no actors",
    "version: 1\ngroups: { team: ann }": "groups.team must be a list of names, not 'ann'",
    "version: 1\ngroups: { team: [' '] }": "groups.team has ' ', which is not a name",
    "version: 1\ngroups: { team: [3] }": "groups.team has 3, which is not a name",
    "version: 1\ngroups: { team: ['ann '] }": "groups.team has 'ann ', which begins or ends with a space",
    "version: 1\ngroups: { ' ': [ann] }": "groups has a blank name",
    "version: 1\ngroups: { 1: [ann] }": "groups must be a mapping of names to values",
    "version: 1\nprotected_branches: [' main']": "protected_branches has ' main', which begins or ends with a space",
    "version: 1\nrules: {}": "rules must be a list of rules",
    "version: 1\ngroups: { a: [x], a: [y] }": "duplicate key 'a'",
    "version: 1\n  groups: [": "is not YAML",
    rule("{allow: {actors: {group: team}, actions: [read]}}"): "rules[0].id must be a text that is not blank, not None",
    rule("{id: ' ', allow: {actors: {group: team}, actions: [read]}}"): "rules[0].id must be a text",
    rule("{id: no, allow: {actors: {group: team}, actions: [read]}}"): "rules[0].id must be a text that is not blank, "
    "not False",
    rule("{id: r}"): "rule 'r' must have one of allow and forbid",
    rule("{id: r, allow: {}, forbid: {}}"): "rule 'r' must have one of allow and forbid",
    rule("{id: r, permit: {}}"): "has the unknown key 'permit'",
    rule("{id: r, allow: {actors: {group: teem}, actions: [read]}}"): "rule 'r' names the unknown group 'teem'; "
    "did you mean `team`?",
    rule("{id: r, allow: {actors: ann, actions: [read]}}"): "rule 'r' must name its actors as {group: NAME}",
    rule("{id: r, allow: {actors: {group: team, user: x}, actions: [read]}}"): "has the unknown key 'user'",
    rule("{id: r, allow: {actors: {group: team}, actions: []}}"): "rule 'r' has no action",
    rule("{id: r, allow: {actors: {group: team}}}"): "rule 'r' has no action",
    rule("{id: r, allow: {actors: {group: team}, actions: [raed]}}"): "unknown action 'raed'; did you mean `read`?",
    rule("{id: r, allow: {actors: {group: team}, actions: read}}"): "rule 'r': actions must be a list of names",
    rule("{id: r, allow: {actors: {group: team}, actions: [read], branch_scope: all}}"): "unknown branch_scope 'all'; "
    "scopes are any, protected, unprotected",
    rule("{id: r, allow: {actors: {group: team}, actions: [read, admin], branch_scope: protected}}"): "has a "
    "branch_scope or branch_patterns, which admin does not support",
    rule(
        "{id: r, allow: {actors: {group: team}, actions: [read], target_branch_scope: any}}"
    ): "target_branch_scope or target_branch_patterns, which read does not support",
    rule(
        "{id: r, allow: {actors: {group: team}, actions: [read], branch_scope: any, target_branch_scope: any}}"
    ): "rule 'r' limits both the branch and the target branch",
    rule(
        "{id: r, allow: {actors: {group: team}, actions: [read], branch_scope: any, branch_patterns: [a]}}"
    ): "rule 'r' has both branch_scope and branch_patterns",
    rule("{id: r, allow: {actors: {group: team}, actions: [read, graph_list]}}"): "rule 'r' mixes actions on graphs",
    rule("{id: r, allow: {actors: {group: team}, actions: [read], queries: [q]}}"): "rule 'r' has queries, which only "
    "invoke_query alone supports",
    rule("{id: r, allow: {actors: {group: team}, actions: [invoke_query], queries: []}}"): "empty list of queries",
    "version: 1\nattributes: {team: Text}": "attributes.team has the unknown type 'Text'; types are String, Long",
    "version: 1\nattributes: {id: String}": "attributes.id is the id of the actor",
    "version: 1\nactors: {ann: {team: red}}": "actors.ann.team is not declared in attributes",
    "version: 1\nattributes: {team: String}\nactors: {ann: {team: 3}}": "actors.ann.team must be String, not 3",
    "version: 1\nattributes: {team: String}\nactors: {ann: {team: 1.5}}": "actors.ann is invalid: 1.5 cannot be",
}


@pytest.mark.parametrize("text", PROBLEMS)
def test_an_invalid_bundle_is_refused_with_its_problem(text: str) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        parse_bundle(text, "p.yaml")
    assert PROBLEMS[text] in refused.value.message
    assert "p.yaml" in refused.value.message


def test_all_problems_are_reported_together() -> None:
    with pytest.raises(PolicyInvalid, match="3 problems") as refused:
        parse_bundle("version: 3\nrules:\n  - {id: r, allow: {actors: {group: x}, actions: [y]}}\n")
    assert refused.value.message.count("\n  ") == 3


def test_two_rules_with_one_id_are_refused() -> None:
    twice = BUNDLE + "  - id: team-write-unprotected\n    allow: { actors: {group: team}, actions: [read] }\n"
    with pytest.raises(PolicyInvalid, match="'team-write-unprotected' is the id of two rules"):
        parse_bundle(twice)


def test_a_bundle_is_about_graphs_or_about_the_server() -> None:
    server = rule("{id: r, allow: {actors: {group: team}, actions: [graph_list]}}")
    assert parse_bundle(server).resource is Resource.SERVER
    assert parse_bundle(server, resource=Resource.SERVER).resource is Resource.SERVER
    with pytest.raises(PolicyInvalid, match="graph_list, which is no action of a graph bundle"):
        parse_bundle(server, resource=Resource.GRAPH)
    with pytest.raises(PolicyInvalid, match="change, which is no action of a cluster bundle"):
        parse_bundle(BUNDLE, resource=Resource.SERVER)
    both = server + "  - {id: s, allow: {actors: {group: team}, actions: [read]}}\n"
    with pytest.raises(PolicyInvalid, match="graph_list, which is no action of a graph bundle"):
        parse_bundle(both)


def test_digests_identify_the_text_and_the_data_rules(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(BUNDLE)
    plain = read_bundle(file)
    assert plain.digest == parse_bundle(BUNDLE).digest
    (tmp_path / "rows.cedar").write_text("permit (principal, action, resource);")
    ruled = read_bundle(file)
    assert ruled.digest != plain.digest
    assert ruled.data_rules == "permit (principal, action, resource);"


def test_a_file_that_cannot_be_read_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no policy file"):
        read_bundle(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_bundle(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyInvalid, match="is not YAML"):
        read_bundle(tmp_path / "binary.yaml")
