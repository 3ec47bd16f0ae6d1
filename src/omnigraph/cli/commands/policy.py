"""``omnigraph policy``: check, test and explain policy bundles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.clusters import cluster_graph
from omnigraph.cli.args.options import json_option
from omnigraph.cli.args.scopes import GraphWords, chosen_cluster, chosen_policy
from omnigraph.cli.args.settings import PROFILE_VARIABLE, profile_names
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.core.actors import Action
from omnigraph.errors import UsageError
from omnigraph.wire.policies import bundle_json, cases_json, decision_json, scope_json

if TYPE_CHECKING:
    from omnigraph.policy import Policy
    from omnigraph.schema.catalog import Catalog

_FILE = click.argument("file", required=False)
_PROFILE = click.option(
    "--profile",
    metavar="NAME",
    shell_complete=profile_names,
    help=f"Profile in the operator's settings that names the policy. [default: {PROFILE_VARIABLE}]",
)


_GRAPH = click.option(
    "--graph",
    metavar="GRAPH",
    help="Graph whose schema the rules about data are applied to: its address, or with --cluster its id. "
    "[default: none]",
)
_CLUSTER = click.option(
    "--cluster",
    metavar="NAME|DIR|URI",
    help="Cluster whose applied policy is used, instead of FILE; --graph is the graph that it decides about.",
)


@click.group("policy", cls=CommandGroup)
def command() -> None:
    """Check, test and explain policy bundles."""


@command.command("validate")
@_FILE
@_GRAPH
@_CLUSTER
@_PROFILE
@json_option
def validate_command(
    file: str | None, graph: str | None, cluster: str | None, profile: str | None, as_json: bool
) -> int:
    """Check a policy bundle.

    FILE is a bundle for graphs or for the server (graph_list). All problems are listed. With --graph, the rules about
    data are checked against its schema.
    """
    path, policy, graph = _loaded(file, profile, cluster, graph)
    if graph is not None:
        policy.check_catalog(_catalog(graph, None))
    form = bundle_json(path, policy.bundle)
    if as_json:
        say_json(form)
    else:
        facts = f"{count(form['actors'], 'actor')}, {count(form['rules'], 'rule')}"
        say(f"{paint('policy valid', 'green', bold=True)}: {path} ({form['kind']} bundle, {facts})")
    return OK


@command.command("test")
@_FILE
@click.option("--tests", "tests_path", required=True, metavar="FILE", help="Cases with the expected decisions.")
@_GRAPH
@_CLUSTER
@_PROFILE
@json_option
def test_command(
    file: str | None, tests_path: str, graph: str | None, cluster: str | None, profile: str | None, as_json: bool
) -> int:
    """Compare the decisions of a policy bundle with expected ones.

    Every case that differs is listed, and the exit code is then 1.
    """
    from omnigraph.policy.cases import run_cases

    _, policy, _ = _loaded(file, profile, cluster, graph)
    results = run_cases(policy, tests_path)
    failures = [result for result in results if not result.passed]
    if as_json:
        say_json(cases_json(results))
    else:
        for result in failures:
            say(f"{paint('failed', 'red', bold=True)}: {result}", to_stderr=True)
        if failures:
            say(f"policy tests failed: {len(failures)} of {count(len(results), 'case')}", to_stderr=True)
        else:
            say(f"{paint('policy tests passed', 'green', bold=True)}: {count(len(results), 'case')}")
    return FAILED if failures else OK


@command.command("explain")
@_FILE
@click.option("--actor", "actor_id", required=True, metavar="ACTOR", help="Id of the actor.")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Group of the actor's token; may be repeated.")
@click.option(
    "--action", required=True, type=click.Choice([action.value for action in Action]), help="Action of the request."
)
@click.option("--branch", metavar="BRANCH", help="Branch of the request; the source of a merge. [default: none]")
@click.option("--target-branch", metavar="BRANCH", help="Branch that would be made or changed. [default: none]")
@click.option("--query", metavar="NAME", help="Stored query of invoke_query. [default: none]")
@_GRAPH
@_CLUSTER
@_PROFILE
@json_option
def explain_command(
    file: str | None,
    actor_id: str,
    groups: tuple[str, ...],
    action: str,
    branch: str | None,
    target_branch: str | None,
    query: str | None,
    graph: str | None,
    cluster: str | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Show the decision of a policy bundle about one request, with the rule that decided.

    With --graph, also the part of its entities that the rules about data leave to the actor.
    """
    from omnigraph.core.actors import Actor, Need

    _, policy, graph = _loaded(file, profile, cluster, graph)
    need, actor = Need(Action(action), branch, target_branch, query), Actor(actor_id, frozenset(groups))
    form = decision_json(policy.decide(actor, need))
    if graph is not None:
        catalog = _catalog(graph, branch)
        from omnigraph.manifest.layout import MAIN

        form["scope"] = scope_json(policy.scope(actor, need.action, branch or MAIN, catalog), catalog)
    if as_json:
        say_json(form)
    else:
        for name, value in form.items():
            if name == "scope":
                for line in _scope_lines(value):
                    say(line)
            elif value is not None:
                say(f"{name}: {value}")
    return OK


def _scope_lines(scope: dict[str, Any]) -> Iterator[str]:
    """The scope of an actor, one line for each type."""
    yield f"data: {scope['data']}"
    for name, known in scope.get("types", {}).items():
        where = known.get("where") or "all"
        hidden = known.get("hidden_properties")
        parts = f"{where}{'; without ' + ', '.join(hidden) if hidden else ''}"
        yield f"  {name}: {parts if known['visible'] else 'nothing'}"


def _catalog(graph: str, branch: str | None) -> Catalog:
    """The schema of a graph, or of a branch of it."""
    from omnigraph.cli.args.addresses import Address

    return Address(graph).open().snapshot(branch).catalog


def _loaded(
    file: str | None, profile: str | None, cluster: str | None, graph: str | None
) -> tuple[str, Policy, str | None]:
    """The name of a bundle, its policy, and the address of the graph whose schema its rules about data use."""
    words = GraphWords(cluster=cluster, graph_id=graph if cluster is not None else None, profile=profile)
    if file is None and chosen_cluster(words) is not None:
        return _applied(words)
    if cluster is not None:
        raise click.UsageError("the policy is given twice: pass either FILE or --cluster, not both")
    path = chosen_policy(file, words)
    if path is None:
        raise click.UsageError("no policy is given: pass FILE, --cluster, or a profile with a policy")
    from omnigraph.policy import load_policy

    return path, load_policy(path), graph


def _applied(words: GraphWords) -> tuple[str, Policy, str]:
    """The policy of a graph of a cluster."""
    from omnigraph.policy.actions import Resource
    from omnigraph.policy.decide import Policy
    from omnigraph.policy.read_bundle import parse_bundle

    graph = cluster_graph(words, {})
    if graph.policy is None:
        raise UsageError(f"no policy is applied to the graph {graph.id!r}", hint="declare one in cluster.yaml")
    name = f"policy {graph.policy.name}"
    return name, Policy(parse_bundle(graph.policy.text, name, Resource.GRAPH), graph.id), graph.uri
