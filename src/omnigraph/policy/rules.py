"""The rules of a bundle as policies of Cedar: one policy for each rule and action, under the id ``<rule>:<action>``.

The policy library numbers policies by position, so each carries its id as an annotation.
"""

from __future__ import annotations

from omnigraph.core.actors import Action
from omnigraph.policy.actions import ACTIONS
from omnigraph.policy.bundle import BranchScope, BranchTest, Bundle, Rule
from omnigraph.policy.cedar_text import NAMESPACE, entity, listed, quoted

SERVER_ID = "root"

_REQUEST = """{
    has_branch: Bool, branch: String, branch_is_protected: Bool,
    has_target_branch: Bool, target_branch: String, target_branch_is_protected: Bool,
    has_query: Bool, query: String
  }"""


def schema_text() -> str:
    """The types of the policies that bundles make."""
    actions = [
        f"  action {quoted(action.value)} appliesTo "
        f"{{ principal: [Actor], resource: [{info.resource.entity_type}], context: Request }};"
        for action, info in ACTIONS.items()
    ]
    types = ["  entity Group;", "  entity Actor in [Group];", "  entity Graph;", "  entity Server;"]
    return "\n".join([f"namespace {NAMESPACE} {{", f"  type Request = {_REQUEST};", *types, *actions, "}"])


def policy_text(bundle: Bundle, resource_id: str) -> str:
    """The policies of all rules, about one graph or about the server."""
    resource = entity(bundle.resource.entity_type, resource_id)
    return "\n".join(_policy(rule, action, resource) for rule in bundle.rules for action in rule.actions)


def _policy(rule: Rule, action: Action, resource: str) -> str:
    scope = (
        f"principal in {entity('Group', rule.group)}, "
        f"action == {entity('Action', action.value)}, resource == {resource}"
    )
    tests = [*_tests("branch", rule.branch), *_tests("target_branch", rule.target_branch)]
    if rule.queries is not None:
        tests.append(f"context.has_query && {listed(rule.queries)}.contains(context.query)")
    when = "".join(f"\nwhen {{ {test} }}" for test in tests)
    return f"@id({quoted(f'{rule.id}:{action.value}')})\n{rule.effect.value} ({scope}){when};"


def _tests(which: str, test: BranchTest) -> list[str]:
    """A request without a branch satisfies no test of it."""
    if test.patterns:
        matches = " || ".join(f"context.{which} like {quoted(text)}" for text in test.patterns)
        return [f"context.has_{which} && ({matches})"]
    match test.scope:
        case BranchScope.ANY:
            return []
        case BranchScope.PROTECTED:
            return [f"context.has_{which} && context.{which}_is_protected"]
        case BranchScope.UNPROTECTED:
            return [f"context.has_{which} && !context.{which}_is_protected"]
