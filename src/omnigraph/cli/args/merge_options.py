"""Conflict resolution of `branch merge`, `merge preview` and `revert`: the options, and the text of conflicts."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.files import read_source
from omnigraph.cli.show.output import count, say
from omnigraph.cli.show.tables import aligned
from omnigraph.errors import InputError

if TYPE_CHECKING:
    from omnigraph.core.tables import TableCounts
    from omnigraph.history.conflicts import MergeConflict

SHOWN_MAX = 50
"""Conflicts shown in a table; --json contains all of them."""


def settles_conflicts(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options that resolve conflicts: it is called with ``policy`` and ``resolutions``."""

    @functools.wraps(command)
    def run(*, policies: tuple[str, ...], resolve: tuple[str, ...], resolutions_path: str | None, **others: Any) -> int:
        given = [_parse(text, "--resolve") for text in resolve]
        if resolutions_path is not None:
            source = read_source(resolutions_path)
            listed = _parse(source.text, source.name)
            given += listed if isinstance(listed, list) else [listed]
        for item in given:
            if not isinstance(item, dict):
                raise InputError(f"a resolution must be a JSON object, not {json.dumps(item)[:40]}", hint=_EXAMPLE)
        return command(policy=_policy(policies), resolutions=given, **others)

    # On these commands `--policy` is about conflicts; that about access has its long name only.
    for parameter in getattr(run, "__click_params__", ()):
        if "--access-policy" in parameter.opts:
            parameter.opts.remove("--policy")
    for option in reversed(_OPTIONS):
        run = option(run)
    return run


_EXAMPLE = 'for example {"type": "Person", "property": "age", "take": "source"}'
_OPTIONS = (
    click.option(
        "--policy",
        "policies",
        multiple=True,
        metavar="[TYPE[.PROPERTY]=]POLICY",
        help="Merge policy for a property that both sides changed, where the schema declares none; may be repeated.",
    ),
    click.option(
        "--resolve",
        multiple=True,
        metavar="JSON",
        help="Resolution for the conflicts that it matches; may be repeated.",
    ),
    click.option("--resolutions", "resolutions_path", metavar="FILE", help="File with a JSON list of resolutions."),
)


def _parse(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {error}", hint=_EXAMPLE) from error


def _policy(given: tuple[str, ...]) -> dict[str, str] | None:
    policies: dict[str, str] = {}
    for text in given:
        place, sign, word = text.rpartition("=")
        policies[place if sign else "*"] = word
    return policies or None


def show_tables(tables: tuple[TableCounts, ...]) -> None:
    """Print the counts of each table."""
    if tables:
        rows = [
            (item.key, item.inserted, item.updated, item.deleted, "taken whole" if item.adopted else "merged")
            for item in tables
        ]
        say(aligned(("table", "inserted", "updated", "deleted", "how"), rows))


def show_conflicts(conflicts: tuple[MergeConflict, ...]) -> None:
    """Print conflicts with the values of base, source and target."""
    rows = [
        (item.table, item.id, item.kind.value, item.property, *map(_shown, (item.base, item.source, item.target)))
        for item in conflicts[:SHOWN_MAX]
    ]
    say(aligned(("table", "id", "conflict", "property", "base", "source", "target"), rows))
    if len(conflicts) > SHOWN_MAX:
        say(f"... and {count(len(conflicts) - SHOWN_MAX, 'more conflict')}; --json shows all")


def _shown(value: object) -> str | None:
    from omnigraph.history.conflicts import short_value

    return None if value is None else short_value(value)
