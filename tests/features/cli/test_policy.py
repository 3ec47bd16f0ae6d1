"""``omnigraph policy``, and ``--policy`` with ``--as`` in front of every command that reads or writes a graph."""

import json
from pathlib import Path

import pytest

from tests.features.cli.run import run

BUNDLE = """
version: 1
groups: { admins: [ann], team: [bob] }
protected_branches: [main]
rules:
  - id: all-read
    allow: { actors: {group: team}, actions: [read] }
  - id: team-write
    allow: { actors: {group: team}, actions: [change, export], branch_scope: unprotected }
  - id: admins
    allow: { actors: {group: admins}, actions: [read, change, export, branch_create, branch_delete] }
"""
CASES = """
version: 1
cases:
  - {id: team-reads-main, actor: bob, action: read, branch: main, expect: allow}
  - {id: team-cannot-write-main, actor: bob, action: change, branch: main, expect: deny}
  - {id: admins-create, actor: ann, action: branch_create, branch: main, target_branch: x, expect: allow}
"""
READ = "query q() { match { $p: Person } return { $p.name } }"
INSERT = 'query q() { insert Person {name: "zoe"} }'


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(BUNDLE)
    return path


def test_a_valid_bundle_is_summarized(bundle: Path) -> None:
    result = run("policy", "validate", bundle)
    assert result.exit_code == 0
    assert result.stdout == f"policy valid: {bundle} (graph bundle, 2 actors, 3 rules)\n"
    form = json.loads(run("policy", "validate", bundle, "--json").stdout)
    assert (form["valid"], form["kind"], form["rules"], form["data_rules"]) == (True, "graph", 3, False)


def test_a_bundle_for_the_server_is_validated_tested_and_explained(tmp_path: Path) -> None:
    bundle, cases = tmp_path / "server.yaml", tmp_path / "cases.yaml"
    bundle.write_text(
        "version: 1\ngroups: {ops: [ann]}\nrules: [{id: r, allow: {actors: {group: ops}, actions: [graph_list]}}]\n"
    )
    cases.write_text("version: 1\ncases: [{id: c, actor: ann, action: graph_list, expect: allow}]\n")
    assert "cluster bundle" in run("policy", "validate", bundle).stdout
    assert run("policy", "test", bundle, "--tests", cases).exit_code == 0
    assert "decision: allow" in run("policy", "explain", bundle, "--actor", "ann", "--action", "graph_list").stdout


def test_an_invalid_bundle_is_refused_with_all_problems(bundle: Path) -> None:
    bundle.write_text(BUNDLE.replace("version: 1", "version: 9").replace("group: team", "group: teem"))
    result = run("policy", "validate", bundle)
    assert result.exit_code == 1
    assert "version must be 1, not 9" in result.stderr
    assert result.stderr.count("unknown group 'teem'; did you mean `team`?") == 2
    assert json.loads(run("policy", "validate", bundle, "--json").stdout)["code"] == "policy_invalid"


def test_policy_tests_pass_or_list_every_difference(bundle: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.yaml"
    cases.write_text(CASES)
    passed = run("policy", "test", bundle, "--tests", cases)
    assert (passed.exit_code, passed.stdout) == (0, "policy tests passed: 3 cases\n")
    cases.write_text(CASES.replace("expect: deny", "expect: allow").replace("action: read", "action: admin"))
    failed = run("policy", "test", bundle, "--tests", cases)
    assert failed.exit_code == 1
    assert failed.stderr.splitlines() == [
        "failed: team-reads-main: expected allow, got deny "
        "(policy denied action 'admin' on branch 'main' for actor 'bob')",
        "failed: team-cannot-write-main: expected allow, got deny "
        "(policy denied action 'change' on branch 'main' for actor 'bob')",
        "policy tests failed: 2 of 3 cases",
    ]
    form = run("policy", "test", bundle, "--tests", cases, "--json")
    assert form.exit_code == 1
    assert json.loads(form.stdout)["failed"] == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("version: 2\ncases: []", "version must be 1, not 2"),
        ("version: 1", "cases must be a list"),
        ("version: 1\nmore: 1\ncases: []", "unknown key 'more'"),
        ("version: 1\ncases: [3]", "cases[0] must be a mapping"),
        ("version: 1\ncases: [{id: a}]", "cases[0].actor must be a text"),
        ("version: 1\ncases: [{id: a, actor: b, action: raed, expect: deny}]", "did you mean `read`?"),
        ("version: 1\ncases: [{id: a, actor: b, action: read, expect: no}]", "cases[0].expect must be a text"),
        ("version: 1\ncases: [{id: a, actor: b, action: read, expect: never}]", "must be allow or deny, not 'never'"),
        ("version: 1\ncases: [{id: a, actor: b, action: read, expect: deny, brunch: x}]", "unknown key 'brunch'"),
        ("version: 1\ncases: [{id: a, actor: b, action: read, expect: deny, branch: 3}]", "branch must be a text"),
        (
            "version: 1\ncases: [{id: a, actor: b, action: read, expect: deny}, "
            "{id: a, actor: b, action: read, expect: deny}]",
            "'a' is the id of two cases",
        ),
    ],
)
def test_a_wrong_file_of_tests_is_explained(bundle: Path, tmp_path: Path, text: str, problem: str) -> None:
    cases = tmp_path / "cases.yaml"
    cases.write_text(text)
    result = run("policy", "test", bundle, "--tests", cases)
    assert result.exit_code == 1
    assert problem in result.stderr


def test_a_decision_is_explained_line_by_line(bundle: Path) -> None:
    words = ("policy", "explain", bundle, "--actor", "bob", "--action", "change")
    assert run(*words, "--branch", "x").stdout == (
        "decision: allow\nactor: bob\naction: change\nbranch: x\nmatched_rule: team-write\n"
        "message: policy allowed action 'change' on branch 'x' for actor 'bob'\n"
    )
    denied = run(*words, "--branch", "main", "--json")
    assert denied.exit_code == 0
    assert json.loads(denied.stdout) == {
        "decision": "deny",
        "actor": "bob",
        "action": "change",
        "branch": "main",
        "target_branch": None,
        "matched_rule": None,
        "message": "policy denied action 'change' on branch 'main' for actor 'bob'",
    }
    create = ("policy", "explain", bundle, "--actor", "ann", "--action", "branch_create", "--branch", "main")
    assert "target_branch: x\nmatched_rule: admins\n" in run(*create, "--target-branch", "x").stdout


def test_wrong_command_lines_are_usage_errors(bundle: Path) -> None:
    assert run("policy", "explain", bundle, "--actor", "bob", "--action", "fly").exit_code == 2
    assert run("policy", "test", bundle).exit_code == 2
    nothing = run("policy", "validate")
    assert nothing.exit_code == 2
    assert "no policy is given" in nothing.stderr
    assert run("policy", "validate", "nowhere.yaml").exit_code == 1


@pytest.fixture
def access(graph: Path, bundle: Path) -> tuple[object, ...]:
    return ("--store", graph, "--policy", bundle)


def test_reads_and_writes_are_decided_by_the_policy(access: tuple[object, ...], graph: Path) -> None:
    assert run("query", "-e", READ, *access, "--as", "bob").exit_code == 0
    denied = run("query", "-e", READ, *access, "--as", "eve")
    assert denied.exit_code == 1
    assert "policy denied action 'read' on branch 'main' for unknown actor 'eve'" in denied.stderr
    assert run("mutate", "-e", INSERT, *access, "--as", "bob").exit_code == 1
    assert json.loads(run("mutate", "-e", INSERT, *access, "--as", "bob", "--json").stdout)["code"] == "forbidden"
    # Nothing was written, and the policy is no property of the graph itself.
    assert "zoe" not in run("query", "-e", READ, "--store", graph).stdout
    assert run("branch", "create", "x", *access, "--as", "ann").exit_code == 0
    assert run("mutate", "-e", INSERT, "--branch", "x", *access, "--as", "bob").exit_code == 0


def test_a_command_without_an_actor_is_denied(access: tuple[object, ...]) -> None:
    result = run("query", "-e", READ, *access)
    assert result.exit_code == 1
    assert "the call names no actor" in result.stderr
    assert "pass --as ACTOR" in result.stderr


def test_the_actor_may_come_from_the_environment(access: tuple[object, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_ACTOR", "bob")
    assert run("query", "-e", READ, *access).exit_code == 0
    assert run("export", *access).exit_code == 1


@pytest.mark.parametrize(
    "words",
    [
        ("branch", "list"),
        ("branch", "delete", "x"),
        ("branch", "rename", "x", "y"),
        ("commit", "list"),
        ("commit", "show", "main"),
        ("changes", "poll", "--start", "beginning"),
        ("diff", "main~1..main"),
        ("export",),
        ("explain", "-e", READ),
        ("sql", "select 1"),
        ("snapshot",),
        ("schema", "show"),
        ("optimize",),
        ("cleanup",),
        ("verify",),
    ],
)
def test_every_command_passes_the_gate(access: tuple[object, ...], words: tuple[str, ...]) -> None:
    result = run(*words, *access, "--as", "eve")
    assert result.exit_code == 1, result.output
    assert "for unknown actor 'eve'" in result.stderr


@pytest.mark.parametrize("words", [("merge", "preview", "x"), ("branch", "merge", "x"), ("revert", "HEAD")])
def test_commands_with_policies_for_conflicts_take_the_other_policy_by_its_long_name(
    graph: Path, bundle: Path, words: tuple[str, ...]
) -> None:
    result = run(*words, "--policy", "source", "--store", graph, "--access-policy", bundle, "--as", "eve")
    assert result.exit_code == 1, result.output
    assert "for unknown actor 'eve'" in result.stderr


def test_an_actor_has_no_effect_on_a_read_without_a_policy(graph: Path) -> None:
    result = run("query", "-e", READ, "--store", graph, "--as", "bob")
    assert result.exit_code == 2
    assert "--as has no effect here without a policy" in result.stderr
    assert run("query", "-e", READ, "--store", graph, env={"OMNIGRAPH_ACTOR": "bob"}).exit_code == 0


def test_a_profile_names_the_policy_of_its_store(
    graph: Path, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text(f"profiles:\n  work: {{store: {graph}, policy: {bundle}}}\n")
    assert run("query", "-e", READ, "--profile", "work").exit_code == 1
    assert run("query", "-e", READ, "--profile", "work", "--as", "bob").exit_code == 0
    assert run("policy", "validate", "--profile", "work").exit_code == 0
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "work")
    assert run("query", "-e", READ, "--as", "bob").exit_code == 0
    # Another graph than that of the profile is not decided by its policy.
    assert run("query", "-e", READ, "--store", graph).exit_code == 0


def test_imports_are_decided_by_the_policy(access: tuple[object, ...], bundle: Path, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("name,age\nzoe,7\n")
    target = tmp_path / "new.omni"
    denied = run("import", people, "--into", target, "--policy", bundle, "--as", "bob")
    assert denied.exit_code == 1
    assert "policy denied action 'change' on branch 'main' for actor 'bob'" in denied.stderr
    assert not target.exists(), "a denied import leaves no graph"
    assert run("import", people, "--into", target, "--policy", bundle, "--as", "ann").exit_code == 0
    assert run("import", people, "--into", target, "--policy", bundle, "--as", "bob", "--dry-run").exit_code == 1


def test_the_scope_of_an_actor_is_explained_for_a_graph(bundle: Path, tmp_path: Path) -> None:
    graph, schema = tmp_path / "g.omni", tmp_path / "s.pg"
    schema.write_text("node Person { name: String @key  team: String?  pay: I64? }\nnode City { name: String @key }\n")
    assert run("init", "--schema", schema, graph).exit_code == 0
    rules = bundle.parent / "rows.cedar"
    rules.write_text(
        'permit (principal in Omnigraph::Group::"admins", action, resource);\n'
        'permit (principal, action == Omnigraph::Action::"read_entity", resource is Data::Person)\n'
        'when { resource has team && resource.team == "red" };\n'
        'permit (principal, action == Omnigraph::Action::"read_property", resource) '
        'unless { context.property == "pay" };\n'
    )
    request = ("--action", "read", "--branch", "main", "--graph", graph)
    assert run("policy", "explain", bundle, "--actor", "bob", *request).stdout.splitlines()[-3:] == [
        "data: part",
        "  node:City: nothing",
        '  node:Person: ($entity.team is not null) and ($entity.team = "red"); without pay',
    ]
    assert "data: all" in run("policy", "explain", bundle, "--actor", "ann", *request).stdout
    form = json.loads(run("policy", "explain", bundle, "--actor", "bob", *request, "--json").stdout)
    assert form["scope"]["types"]["node:City"] == {"visible": False}
    assert run("policy", "validate", bundle, "--graph", graph).exit_code == 0
    rules.write_text("permit (principal, action, resource is Data::Ghost);")
    failed = run("policy", "validate", bundle, "--graph", graph)
    assert failed.exit_code == 1
    assert "rule 'number 1'" in failed.stderr
