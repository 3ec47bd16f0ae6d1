"""``omnigraph documents``: texts as chunks with vectors, linked to documents and entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import Address, uri_argument, writes_graph
from omnigraph.cli.args.options import (
    base_option,
    branch_option,
    dry_run_option,
    json_option,
    message_option,
    quiet_option,
)
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import paint, say, say_json
from omnigraph.cli.show.progress import progress_bar
from omnigraph.core.limits import BATCH_DOCUMENTS
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.jobs.documents import documents_json, documents_preview_json

if TYPE_CHECKING:
    from omnigraph.engine.documents.result import DocumentsResult


@click.group("documents", cls=CommandGroup)
def command() -> None:
    """Load texts as chunks with vectors and links."""


@command.command("load")
@uri_argument
@click.option(
    "--data",
    "paths",
    multiple=True,
    required=True,
    metavar="PATH",
    help="A directory of text files, a file, a pattern, an s3:// address, or a CSV, Parquet or JSON file with the "
    "columns id and text. May be repeated.",
)
@click.option("--pipeline", metavar="FILE.yaml", help="Types, size of chunks, and names to look for.")
@branch_option
@base_option
@click.option("--commit-per-batch", is_flag=True, help="Make a commit for each batch. [default: one at the end]")
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=BATCH_DOCUMENTS,
    show_default=True,
    metavar="N",
    help="Documents that are processed together.",
)
@click.option("--prune", is_flag=True, help="Remove documents that the input no longer has.")
@click.option("--refresh", is_flag=True, help="Divide and link unchanged documents again.")
@click.option(
    "--engine",
    type=click.Choice(("embedded", "spark")),
    default="embedded",
    show_default=True,
    help="Engine that reads, divides and embeds: this process, or Spark.",
)
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Parts of a batch at the same time: threads, or tasks of Spark. [default: 1, or the cores of Spark]",
)
@click.option(
    "--requests-per-minute",
    type=click.IntRange(min=1),
    metavar="N",
    help="Calls of the embedder per minute, over all parts. [default: no limit]",
)
@dry_run_option
@message_option
@writes_graph
@quiet_option
@json_option
def load_command(
    address: Address,
    paths: tuple[str, ...],
    pipeline: str | None,
    commit_per_batch: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Divide texts into chunks, embed them, and link them to documents and entities.

    \b
    omnigraph documents load G --data texts/ --pipeline documents.yaml

    Documents that have not changed are skipped, so a run can be repeated, and continues one that was interrupted.
    """
    from omnigraph.config.documents_file import read_pipeline_file

    rules = None if pipeline is None else read_pipeline_file(pipeline)
    data = paths[0] if len(paths) == 1 else list(paths)
    graph = address.open()
    if dry_run:
        preview = graph.load_documents_preview(data, rules, atomic=not commit_per_batch, **options)
        if as_json:
            say_json(with_uri(graph.uri, documents_preview_json(preview)))
        else:
            say(f"would load {preview.counts.summary()} on {preview.branch}; nothing was changed")
        return OK
    address.announce("documents load", quiet)
    with progress_bar("documents", "documents", total=None, quiet=quiet) as report:
        result = graph.load_documents(
            data,
            rules,
            atomic=not commit_per_batch,
            progress=lambda documents: report(documents, documents),
            **options,
        )
    if as_json:
        say_json(with_uri(graph.uri, documents_json(result)))
    else:
        _say(result)
    return OK


def _say(result: DocumentsResult) -> None:
    ok = paint("ok", "green", bold=True)
    for remark in result.remarks:
        say(f"{paint('remark', 'yellow')}: {remark}", to_stderr=True)
    resumed = " (continued an interrupted run)" if result.resumed else ""
    if result.commit is None:
        say(f"{ok}: nothing to do: {result.counts.summary()}{resumed}")
        return
    made = ", ".join(commit.id for commit in result.commits[-3:])
    several = f"{len(result.commits):,} commits, the last " if len(result.commits) > 3 else "commit "
    say(f"{ok}: {result.counts.summary()} on {result.branch}, {several}{made}{resumed}")
