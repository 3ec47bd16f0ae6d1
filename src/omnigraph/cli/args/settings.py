"""What the operator has set once for all commands: the actor, the usual graph, names for others, how rows are shown."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.offers import offering
from omnigraph.cli.show.output import paint, say

if TYPE_CHECKING:
    from omnigraph.config.operator import OperatorConfig

PROFILE_VARIABLE = "OMNIGRAPH_PROFILE"

_KEY = "omnigraph.settings"


def settings() -> OperatorConfig:
    """The settings of whoever runs this command; read once a run, with what is remarkable about them told."""
    from omnigraph.config.operator import config_path, read_config

    run = click.get_current_context().find_root().meta
    if _KEY not in run:
        config = run[_KEY] = read_config(config_path(os.environ))
        for remark in config.remarks:
            say(f"{paint('note', 'yellow')}: {remark}", to_stderr=True)
    found: OperatorConfig = run[_KEY]
    return found


def usual_actor() -> str | None:
    """Who makes commits when nobody is named."""
    return settings().actor


def _profiles(_ctx: click.Context) -> Iterable[str]:
    return settings().profiles


profile_names = offering(_profiles)
