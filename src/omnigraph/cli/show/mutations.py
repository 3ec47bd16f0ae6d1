"""The outcome of a mutation: the rows that it returns, and one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cli.show.output import count, paint, say
from omnigraph.cli.show.tables import aligned

if TYPE_CHECKING:
    from omnigraph.engine.results import MutationResult
    from omnigraph.engine.tabular import ReturnedRows


def show_returned(rows: ReturnedRows | None) -> None:
    """Print the rows of ``returning``, if there are any."""
    if rows is not None:
        say(aligned(rows.columns, [list(row.values()) for row in rows.rows]))


def show_mutation(result: MutationResult) -> None:
    """Print what a mutation returns and changed, and its commit."""
    show_returned(result.returned)
    ok = paint("ok", "green", bold=True)
    if result.commit is None:
        say(f"{ok}: nothing to change, no commit")
        return
    affected = f"{count(result.affected_nodes, 'node')}, {count(result.affected_edges, 'edge')}"
    say(f"{ok}: {affected} changed on {result.branch}, commit {result.commit.id}")
