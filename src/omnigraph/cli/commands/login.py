"""``omnigraph login``: store the token of a server."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.args.options import json_option
from omnigraph.cli.args.settings import settings
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import paint, say, say_json
from omnigraph.wire.program import login_json


@click.command("login")
@click.argument("name")
@click.option("--token", metavar="TOKEN", help="The token. [default: a prompt, or the first line of standard input]")
@click.option(
    "--keyring", "in_keyring", is_flag=True, help="Store the token in the keyring of the system instead of a file."
)
@json_option
def command(name: str, token: str | None, in_keyring: bool, as_json: bool) -> int:
    """Store the token of a server.

    NAME is a server of the settings. The token goes to addresses of that server only. It is kept in the file
    `credentials` beside the settings, which only its owner can read, or in the keyring of the system. A token on the
    command line can be seen by other programs: pass it on standard input instead.
    """
    from omnigraph.client.addresses import checked_token
    from omnigraph.config.credentials import credentials_path, store_token

    config = settings()
    store_token(config, name, checked_token(token if token is not None else _prompted(name)), in_keyring=in_keyring)
    url, path = config.servers.get(name), None if in_keyring else str(credentials_path(config))
    if as_json:
        say_json(login_json(name, url, path))
        return OK
    say(f"{paint('ok', 'green', bold=True)}: stored the token of {name} in {path or 'the keyring'}")
    if url is None:
        say(
            f"{paint('note', 'yellow')}: {config.path} does not say where {name} is; add:\n"
            f"  servers:\n    {name}: {{url: https://...}}",
            to_stderr=True,
        )
    return OK


def _prompted(name: str) -> str:
    if sys.stdin.isatty():
        token: str = click.prompt(f"Token of {name}", hide_input=True, err=True)
        return token
    return sys.stdin.readline()
