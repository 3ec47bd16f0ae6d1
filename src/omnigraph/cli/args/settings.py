"""The operator's settings, loaded once per run: actor, default graph, profiles and output format."""

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
    """The operator's settings. The first call of a run reads the file and prints its remarks."""
    from omnigraph.config.operator import config_path, read_config

    run = click.get_current_context().find_root().meta
    if _KEY not in run:
        config = run[_KEY] = read_config(config_path(os.environ))
        for remark in config.remarks:
            say(f"{paint('note', 'yellow')}: {remark}", to_stderr=True)
    found: OperatorConfig = run[_KEY]
    return found


def usual_actor() -> str | None:
    """The default author of commits."""
    return settings().actor


def _profiles(_ctx: click.Context) -> Iterable[str]:
    return settings().profiles


def _servers(_ctx: click.Context) -> Iterable[str]:
    return settings().servers


def _aliases(_ctx: click.Context) -> Iterable[str]:
    return settings().aliases


profile_names = offering(_profiles)
server_names = offering(_servers)
alias_names = offering(_aliases)
