"""``omnigraph logout``: forget the token of a server."""

from __future__ import annotations

import click

from omnigraph.cli.args.options import json_option
from omnigraph.cli.args.settings import settings
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import paint, say, say_json
from omnigraph.wire.program import logout_json


@click.command("logout")
@click.argument("name")
@json_option
def command(name: str, as_json: bool) -> int:
    """Remove the stored token of a server.

    The server still accepts the token until its operator withdraws it.
    """
    from omnigraph.config.credentials import remove_token

    remove_token(settings(), name)
    if as_json:
        say_json(logout_json(name))
    else:
        say(f"{paint('ok', 'green', bold=True)}: removed the token of {name}")
    return OK
