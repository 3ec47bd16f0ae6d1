"""The outcome of a mutation in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cli.show.output import count, paint, say

if TYPE_CHECKING:
    from omnigraph.engine.results import MutationResult


def show_mutation(result: MutationResult) -> None:
    """Print what a mutation changed, and its commit."""
    ok = paint("ok", "green", bold=True)
    if result.commit is None:
        say(f"{ok}: nothing to change, no commit")
        return
    affected = f"{count(result.affected_nodes, 'node')}, {count(result.affected_edges, 'edge')}"
    say(f"{ok}: {affected} changed on {result.branch}, commit {result.commit.id}")
