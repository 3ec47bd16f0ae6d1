"""``omnigraph profile``: the profiles of the operator's settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.options import json_option
from omnigraph.cli.args.row_output import chosen_format, format_option, show_list
from omnigraph.cli.args.settings import PROFILE_VARIABLE, settings
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import say, say_json
from omnigraph.errors import NotFoundError
from omnigraph.wire.program import profile_json

if TYPE_CHECKING:
    from omnigraph.config.operator import Profile


@click.group("profile", cls=CommandGroup)
def command() -> None:
    """Show the profiles of the operator's settings."""


@command.command("list")
@format_option
@json_option
def list_command(format_: str | None, as_json: bool) -> int:
    """List the profiles."""
    chosen = chosen_format(format_, as_json=as_json)
    config = settings()
    profiles = [profile_json(profile, active=_is_active(profile)) for profile in config.profiles.values()]
    if chosen == "json":
        say_json(profiles)
    elif not profiles and chosen == "table":
        say(f"no profiles are defined in {config.path}")
    else:
        rows = [("*" if item["active"] else "", item["name"], item["target"], item["error"]) for item in profiles]
        show_list("profile list", {"used": str, "profile": str, "graph": str, "problem": str}, rows, chosen)
    return OK


@command.command("show")
@click.argument("name", required=False)
@json_option
def show_command(name: str | None, as_json: bool) -> int:
    """Show one profile. NAME defaults to the active profile."""
    config = settings()
    chosen = name or os.environ.get(PROFILE_VARIABLE)
    if chosen is None:
        raise NotFoundError("no profile is active", hint=f"pass a name, or set {PROFILE_VARIABLE}")
    profile = config.profile(chosen)
    form = profile_json(profile, active=_is_active(profile))
    if as_json:
        say_json(form)
    else:
        for key, value in form.items():
            say(f"{key}: {'-' if value is None else str(value).lower() if isinstance(value, bool) else value}")
    return OK


def _is_active(profile: Profile) -> bool:
    return os.environ.get(PROFILE_VARIABLE) == profile.name
