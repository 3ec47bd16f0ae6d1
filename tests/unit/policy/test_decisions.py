"""Decisions of bundles: texts, reasons, cache, log, and Cedar against a model of the rules in plain Python."""

import logging
import pickle
import re

import cedarpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.core.actors import Action, Actor, Need
from omnigraph.errors import PolicyDenied, PolicyFailure
from omnigraph.policy import Policy
from omnigraph.policy.actions import ACTIONS, Resource
from omnigraph.policy.bundle import BranchScope, BranchTest, Bundle, Effect, Rule
from omnigraph.policy.read_bundle import parse_bundle
from omnigraph.policy.rules import policy_text, schema_text

TEXT = """
version: 1
groups: { admins: [ann], team: [ann, bob] }
protected_branches: [main]
rules:
  - id: team-read
    allow: { actors: {group: team}, actions: [read, export] }
  - id: b-team-write
    allow: { actors: {group: team}, actions: [change], branch_scope: unprotected }
  - id: a-admin-write
    allow: { actors: {group: admins}, actions: [change] }
  - id: admin-merge
    allow: { actors: {group: admins}, actions: [branch_merge], target_branch_scope: protected }
  - id: agents
    allow: { actors: {group: team}, actions: [branch_create], target_branch_patterns: ["agent/*"] }
  - id: top
    allow: { actors: {group: team}, actions: [invoke_query], queries: [top] }
  - id: nothing-secret
    forbid: { actors: {group: team}, actions: [read], branch_patterns: ["secret/*"] }
"""


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(parse_bundle(TEXT))


DECISIONS = [
    ("bob", Need(Action.READ, "main"), "team-read", "policy allowed action 'read' on branch 'main' for actor 'bob'"),
    ("bob", Need(Action.READ), "team-read", "policy allowed action 'read' for actor 'bob'"),
    ("bob", Need(Action.CHANGE, "main"), None, "policy denied action 'change' on branch 'main' for actor 'bob'"),
    ("bob", Need(Action.CHANGE, "x"), "b-team-write", "policy allowed action 'change' on branch 'x' for actor 'bob'"),
    # A request without a branch never matches a rule with a scope.
    ("bob", Need(Action.CHANGE), None, "policy denied action 'change' for actor 'bob'"),
    # Of several rules that allow, the smallest id is the reason.
    ("ann", Need(Action.CHANGE, "x"), "a-admin-write", "policy allowed action 'change' on branch 'x' for actor 'ann'"),
    (
        "ann",
        Need(Action.BRANCH_MERGE, "x", "main"),
        "admin-merge",
        "policy allowed action 'branch_merge' on branch 'x' targeting branch 'main' for actor 'ann'",
    ),
    (
        "ann",
        Need(Action.BRANCH_MERGE, "main", "x"),
        None,
        "policy denied action 'branch_merge' on branch 'main' targeting branch 'x' for actor 'ann'",
    ),
    (
        "bob",
        Need(Action.BRANCH_CREATE, "main", "agent/1"),
        "agents",
        "policy allowed action 'branch_create' on branch 'main' targeting branch 'agent/1' for actor 'bob'",
    ),
    (
        "bob",
        Need(Action.BRANCH_CREATE, "main", "agents"),
        None,
        "policy denied action 'branch_create' on branch 'main' targeting branch 'agents' for actor 'bob'",
    ),
    ("bob", Need(Action.INVOKE_QUERY, query="top"), "top", "policy allowed action 'invoke_query' for actor 'bob'"),
    ("bob", Need(Action.INVOKE_QUERY, query="all"), None, "policy denied action 'invoke_query' for actor 'bob'"),
    ("bob", Need(Action.INVOKE_QUERY), None, "policy denied action 'invoke_query' for actor 'bob'"),
    (
        "bob",
        Need(Action.READ, "secret/1"),
        "nothing-secret",
        "policy denied action 'read' on branch 'secret/1' for actor 'bob'",
    ),
    ("eve", Need(Action.READ, "main"), None, "policy denied action 'read' on branch 'main' for unknown actor 'eve'"),
    ("ann", Need(Action.ADMIN), None, "policy denied action 'admin' for actor 'ann'"),
    ("ann", Need(Action.GRAPH_LIST), None, "policy denied action 'graph_list' for actor 'ann'"),
]


@pytest.mark.parametrize(("actor", "need", "rule", "message"), DECISIONS)
def test_a_decision_names_its_rule_and_says_what_was_asked(
    policy: Policy, actor: str, need: Need, rule: str | None, message: str
) -> None:
    decision = policy.decide(Actor(actor), need)
    assert (decision.rule, decision.message) == (rule, message)
    arguments = (Actor(actor), need.action, need.branch, need.target_branch)
    if decision.allowed:
        policy.check(*arguments, query=need.query)
        return
    with pytest.raises(PolicyDenied) as denied:
        policy.check(*arguments, query=need.query)
    assert denied.value.message == message
    assert denied.value.facts == {
        "actor": actor,
        "action": need.action.value,
        "branch": need.branch,
        "target_branch": need.target_branch,
    }


def test_groups_of_a_token_count_for_groups_of_the_bundle(policy: Policy) -> None:
    assert policy.decide(Actor("eve", {"team"}), Need(Action.READ, "main")).allowed
    assert not policy.decide(Actor("eve", {"others"}), Need(Action.READ, "main")).is_known


def test_a_bundle_about_the_server_decides_about_graph_list_only() -> None:
    text = "version: 1\ngroups: {ops: [ann]}\nrules: [{id: r, allow: {actors: {group: ops}, actions: [graph_list]}}]"
    server = Policy(parse_bundle(text))
    assert server.decide(Actor("ann"), Need(Action.GRAPH_LIST)).allowed
    assert not server.decide(Actor("bob"), Need(Action.GRAPH_LIST)).allowed
    assert not server.decide(Actor("ann"), Need(Action.READ)).allowed


def test_a_decision_is_computed_once_for_an_actor_and_request(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, calls = Policy(parse_bundle(TEXT)), []
    authorize = cedarpy.is_authorized
    monkeypatch.setattr(cedarpy, "is_authorized", lambda *args: calls.append(args) or authorize(*args))
    for _ in range(3):
        assert policy.decide(Actor("bob"), Need(Action.READ, "main")).allowed
        assert policy.decide(Actor("bob", {"admins"}), Need(Action.CHANGE, "main")).allowed
        assert not policy.decide(Actor("bob"), Need(Action.CHANGE, "main")).allowed
    assert len(calls) == 3


def test_every_decision_is_logged_with_its_facts(policy: Policy, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="omnigraph.policy")
    policy.decide(Actor("ann"), Need(Action.BRANCH_MERGE, "x", "main"))
    policy.decide(Actor("ann"), Need(Action.BRANCH_MERGE, "x", "main"))
    facts = [record.__dict__["facts"] for record in caplog.records]
    assert facts == 2 * [
        {
            "actor": "ann",
            "action": "branch_merge",
            "branch": "x",
            "target_branch": "main",
            "allowed": True,
            "rule": "admin-merge",
        }
    ]


def test_a_policy_that_cannot_be_evaluated_refuses(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*given: object) -> cedarpy.AuthzResult:
        return cedarpy.AuthzResult({"decision": "Allow", "diagnostics": {"errors": ["type error"], "reason": []}})

    monkeypatch.setattr(cedarpy, "is_authorized", failing)
    with pytest.raises(PolicyFailure, match="policy: action 'read' on branch 'new' could not be decided: type error"):
        policy.check(Actor("bob"), Action.READ, "new")

    def raising(*given: object) -> cedarpy.AuthzResult:
        raise ValueError("no such entity")

    monkeypatch.setattr(cedarpy, "is_authorized", raising)
    with pytest.raises(PolicyFailure, match="could not be decided: no such entity"):
        policy.check(Actor("bob"), Action.READ, "new")


INJECTION = '") || true; permit(principal,action,resource);//'


@pytest.mark.parametrize("name", ['"', "\\", "\0", "a\nb", INJECTION, "\ud800"])
def test_hostile_names_are_only_names(name: str) -> None:
    policy = Policy(parse_bundle(TEXT))
    assert not policy.decide(Actor(f"x{name}"), Need(Action.READ, name)).allowed
    try:
        assert not policy.decide(Actor(f"x{name}", {"team"}), Need(Action.CHANGE, "main", name, name)).allowed
    except PolicyFailure:
        assert name == "\ud800", "half a character cannot be handed to the policy library"


def test_a_policy_is_pickled_by_its_bundle(policy: Policy) -> None:
    copy = pickle.loads(pickle.dumps(policy))
    assert copy.bundle == policy.bundle
    assert copy.decide(Actor("bob"), Need(Action.READ, "main")).allowed


def test_policies_are_the_text_of_the_reference() -> None:
    bundle = parse_bundle(TEXT)
    assert cedarpy.validate_policies(policy_text(bundle, "kb"), schema_text()).validation_passed
    assert policy_text(bundle, "kb").split(";\n")[2] == (
        '@id("b-team-write:change")\n'
        'permit (principal in Omnigraph::Group::"team", action == Omnigraph::Action::"change", '
        'resource == Omnigraph::Graph::"kb")\n'
        "when { context.has_branch && !context.branch_is_protected }"
    )


# The model: §7.2 of the specification in plain Python.

NAMES = st.sampled_from(["main", "dev", "agent/1", "agent/2", 'ä"b', "a*b", "release-7"])
PATTERNS = st.sampled_from(["*", "agent/*", "m*n", "dev", "*7", 'ä"*', "x"])
GROUPS = st.sampled_from(["admins", "team", 'we"ird', "grüppe"])
PEOPLE = st.sampled_from(["ann", "bob", 'c"arl', "dora\\"])
TESTS = st.one_of(
    st.builds(BranchTest, st.sampled_from(BranchScope)),
    st.builds(lambda patterns: BranchTest(patterns=tuple(patterns)), st.lists(PATTERNS, min_size=1, max_size=2)),
)


@st.composite
def rules(draw: st.DrawFn, number: int) -> Rule:
    graph = [action for action, info in ACTIONS.items() if info.resource is Resource.GRAPH]
    actions = tuple(draw(st.lists(st.sampled_from(graph), min_size=1, max_size=3, unique=True)))
    on_branch = all(ACTIONS[action].has_branch for action in actions)
    on_target = all(ACTIONS[action].has_target_branch for action in actions)
    queries = draw(st.one_of(st.none(), st.just(("top",)))) if actions == (Action.INVOKE_QUERY,) else None
    any_branch = BranchTest()
    return Rule(
        f"rule-{number}",
        draw(st.sampled_from([Effect.ALLOW, Effect.ALLOW, Effect.FORBID])),
        draw(GROUPS),
        actions,
        draw(TESTS) if on_branch else any_branch,
        draw(TESTS) if on_target else any_branch,
        queries,
    )


@st.composite
def bundles(draw: st.DrawFn) -> Bundle:
    groups = draw(st.dictionaries(GROUPS, st.frozensets(PEOPLE, min_size=1), min_size=1))
    made = [draw(rules(number)) for number in range(draw(st.integers(1, 5)))]
    return Bundle(
        "digest",
        Resource.GRAPH,
        groups,
        draw(st.frozensets(NAMES)),
        tuple(rule for rule in made if rule.group in groups),
    )


def _holds(test: BranchTest, branch: str | None, protected: frozenset[str]) -> bool:
    if test.is_any:
        return True
    if branch is None:
        return False
    if test.patterns:
        parts = ("".join(".*" if char == "*" else re.escape(char) for char in text) for text in test.patterns)
        return any(re.fullmatch(part, branch, re.DOTALL) for part in parts)
    return (branch in protected) is (test.scope is BranchScope.PROTECTED)


def _model(bundle: Bundle, actor: Actor, need: Need) -> tuple[bool, str | None]:
    member = bundle.groups_of(actor)
    matching = [
        rule
        for rule in bundle.rules
        if rule.group in member
        and need.action in rule.actions
        and _holds(rule.branch, need.branch, bundle.protected_branches)
        and _holds(rule.target_branch, need.target_branch, bundle.protected_branches)
        and (rule.queries is None or need.query in rule.queries)
    ]
    forbidding = [rule.id for rule in matching if rule.effect is Effect.FORBID]
    allowing = [rule.id for rule in matching if rule.effect is Effect.ALLOW]
    return bool(allowing) and not forbidding, min(forbidding or allowing, default=None)


@settings(max_examples=150)
@given(bundles(), st.data())
def test_decisions_equal_the_rules_of_the_specification(bundle: Bundle, data: st.DataObject) -> None:
    policy = Policy(bundle)
    for _ in range(6):
        actor = Actor(data.draw(PEOPLE), data.draw(st.frozensets(GROUPS, max_size=1)))
        optional = st.one_of(st.none(), NAMES)
        need = Need(
            data.draw(st.sampled_from(Action)),
            data.draw(optional),
            data.draw(optional),
            data.draw(st.sampled_from([None, "top", "other"])),
        )
        decision = policy.decide(actor, need)
        assert (decision.allowed, decision.rule) == _model(bundle, actor, need)
