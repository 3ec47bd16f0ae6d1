"""Shell completion of branch and type names, from the graph named on the command line so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Address
from omnigraph.cli.args.offers import offering
from omnigraph.cli.args.scopes import GraphWords, chosen_graph, chosen_policy
from omnigraph.cli.args.settings import usual_actor

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph


def _graph(ctx: click.Context) -> Graph:
    given = ctx.params
    options = given.get("storage_options") or {}
    words = GraphWords.of(given)
    store = chosen_graph(words, options)
    policy = chosen_policy(given.get("policy_path"), words)
    return Address(store or "", options, policy=policy, actor=given.get("actor") or usual_actor()).open()


def _branches(ctx: click.Context) -> Iterable[str]:
    return [branch.name for branch in _graph(ctx).branches()]


def _types(ctx: click.Context) -> Iterable[str]:
    catalog = _graph(ctx).catalog(ctx.params.get("branch") or "main")
    return {*catalog.nodes, *catalog.edges}


branch_names = offering(_branches)
type_names = offering(_types)
