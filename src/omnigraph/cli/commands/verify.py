"""``omnigraph verify``: check that every file that a commit needs exists and is intact."""

from __future__ import annotations

import click

from omnigraph.cli.args.addresses import Address, reads_graph, uri_argument
from omnigraph.cli.args.options import json_option, quiet_option
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.cli.show.progress import progress_bar
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.maintenance import verify_json

_COMMITS_SHOWN_MAX = 3


@click.command("verify")
@uri_argument
@click.option("--quick", is_flag=True, help="Check names and sizes only, not the content.")
@reads_graph
@quiet_option
@json_option
def command(address: Address, quick: bool, quiet: bool, as_json: bool) -> int:
    """Check that no file of the history is missing or damaged.

    Checks every branch and commit, and the entities of every head for duplicate ids and dangling edges. Nothing is
    changed. Exits with 1 if there is a problem, and names the affected commits.
    """
    graph = address.open()
    with progress_bar("checking", "files", total=None, quiet=quiet) as progress:
        report = graph.verify(deep=not quick, progress=lambda files: progress(files, files))
    if as_json:
        say_json(with_uri(graph.uri, verify_json(report)))
    else:
        for problem in report.problems:
            say(f"{paint(problem.path, bold=True)} {problem.what}{_hurt(problem.commits)}")
        for remark in report.remarks:
            say(f"{paint('note', 'yellow')}: {remark.path} {remark.what}")
        checked = f"{count(report.commits, 'commit')}, {count(report.files, 'file')}, {report.bytes:,} bytes"
        if report.is_clean:
            say(f"{paint('ok', 'green', bold=True)}: {checked}")
        else:
            say(f"{paint('damaged', 'red', bold=True)}: {count(len(report.problems), 'problem')} in {checked}")
    return OK if report.is_clean else FAILED


def _hurt(commits: tuple[str, ...]) -> str:
    if not commits:
        return ""
    more = len(commits) - _COMMITS_SHOWN_MAX
    shown = ", ".join(commits[:_COMMITS_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
    return f"; needed by {shown}"
