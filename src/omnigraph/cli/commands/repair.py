"""``omnigraph repair``: quarantine damaged files, and restore files that have a copy."""

from __future__ import annotations

import click

from omnigraph.cli.args.addresses import Address, in_cluster, makes_graph, uri_argument
from omnigraph.cli.args.options import json_option, quiet_option, yes_option
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.maintenance import repair_json


@click.command("repair")
@uri_argument
@click.option("--apply", "apply_", is_flag=True, help="Apply the listed repairs. [default: only list them]")
@in_cluster
@makes_graph
@yes_option
@quiet_option
@json_option
def command(address: Address, apply_: bool, yes: bool, quiet: bool, as_json: bool) -> int:
    """Quarantine damaged files and restore files that have a copy.

    Lists the repairs, and applies them with --apply. A damaged file is moved to aside/ below the graph; nothing is
    deleted. Also works on a graph that cannot be opened. Stop all writers first. Exits with 1 if there is damage, or
    with --apply if damage remains.
    """
    if apply_:
        address.confirm_loss("set damaged files aside", yes=yes)
        address.announce("repair", quiet)
    report = address.repair(apply=apply_)
    if as_json:
        say_json(with_uri(address.uri, repair_json(report)))
        return OK if report.is_clean else FAILED
    for step in report.steps:
        say(f"{paint(step.path, bold=True)} {step.what}")
        say(f"  {step.action}: {step.effect}")
    for item in report.unrepaired:
        hurt = f"; needed by {count(len(item.commits), 'commit')}" if item.commits else ""
        say(f"{paint(item.path, bold=True)} {item.what}{hurt}")
        say(f"  {paint('hint', 'cyan')}: {item.advice}")
    verdict = paint("ok", "green", bold=True) if report.is_clean else paint("damaged", "red", bold=True)
    verb = "made" if report.applied else "to be made with --apply"
    say(f"{verdict}: {count(len(report.steps), 'repair')} {verb}, {count(len(report.unrepaired), 'problem')} left")
    return OK if report.is_clean else FAILED
