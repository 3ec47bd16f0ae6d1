"""Names that the shell offers after TAB, from whatever knows them.

Nothing here may fail or speak: what cannot be read offers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def offering(names: Callable[[click.Context], Iterable[str]]) -> Completer:
    """A completer of the names that begin as the word does."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        try:
            with ctx.scope(cleanup=False):
                return sorted(name for name in names(ctx) if name.startswith(incomplete))
        except Exception:  # whatever is wrong is said when the command runs
            return []

    return complete
