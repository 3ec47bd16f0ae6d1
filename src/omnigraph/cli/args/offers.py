"""Shell completion: names offered after TAB.

A completer neither fails nor prints: names that cannot be read are not offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def offering(names: Callable[[click.Context], Iterable[str]]) -> Completer:
    """A completer of the names that start with the incomplete word."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        try:
            with ctx.scope(cleanup=False):
                return sorted(name for name in names(ctx) if name.startswith(incomplete))
        except Exception:  # the command itself reports the problem when it runs
            return []

    return complete
