"""``omnigraph embed``: embeddings for files of JSON lines, before they are loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.data_files import open_data
from omnigraph.cli.args.files import replacing
from omnigraph.cli.args.options import json_option, quiet_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.cli.show.progress import progress_bar
from omnigraph.wire.program import embedded_file_json

if TYPE_CHECKING:
    from omnigraph.config.embed_file import Seed
    from omnigraph.embed.lines import LineEmbedding


@click.command("embed")
@click.option("--seed", "seed_path", metavar="FILE.yaml", help="Specification that also names the input and output.")
@click.option("--input", "input_path", metavar="FILE.jsonl", help="Input file.")
@click.option("--output", "output_path", metavar="FILE.jsonl", help="Output file; may be the input.")
@click.option(
    "--spec",
    "spec_path",
    metavar="FILE.yaml",
    help="Specification: the dimension, and for each type the target property and the text fields.",
)
@click.option("--clean", is_flag=True, help="Remove vectors.")
@click.option("--reembed-all", is_flag=True, help="Replace existing vectors.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Only nodes of this type; may be repeated. [default: all types of the specification]",
)
@click.option(
    "--select",
    "selects",
    multiple=True,
    metavar="[TYPE:]FIELD=VALUE",
    help="Only nodes with this value, even if they have a vector; may be repeated.",
)
@quiet_option
@json_option
def command(
    seed_path: str | None,
    input_path: str | None,
    output_path: str | None,
    spec_path: str | None,
    clean: bool,
    reembed_all: bool,
    types: tuple[str, ...],
    selects: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> int:
    """Add embeddings to the nodes of a JSON lines file.

    Nodes without a vector get one from the provider that OMNIGRAPH_EMBED_* configures; all other lines are copied
    unchanged. The output is replaced atomically, so a failed run leaves the old file.
    """
    if clean and reembed_all:
        raise click.UsageError("pass either --clean or --reembed-all, not both")
    seed = _seed(seed_path, input_path, output_path, spec_path)
    from omnigraph.embed import from_environment
    from omnigraph.embed.lines import LineEmbedding, Mode, Selection

    mode = Mode.CLEAN if clean else Mode.REEMBED_ALL if reembed_all else Mode.FILL_MISSING
    selections = [Selection.parsed(text) for text in selects]
    run = LineEmbedding(seed.spec, mode, from_environment(), types, selections, seed.input)
    with (
        open_data(seed.input) as data,
        progress_bar("embedding", "lines", total=data.size, quiet=quiet) as report,
        replacing(seed.output) as file,
    ):
        for line in run.run(data.lines()):
            file.write(line)
            report(data.position, run.records)
    _show(seed, run, as_json)
    return OK


def _seed(seed_path: str | None, input_path: str | None, output_path: str | None, spec_path: str | None) -> Seed:
    from omnigraph.config.embed_file import Seed, read_seed, read_spec

    named = {"--input": input_path, "--output": output_path, "--spec": spec_path}
    if seed_path is not None:
        if any(named.values()):
            raise click.UsageError("pass either --seed or --input, --output and --spec, not both")
        return read_seed(seed_path)
    if input_path is None or output_path is None or spec_path is None:
        missing = next(name for name, path in named.items() if path is None)
        raise click.UsageError(f"missing option '{missing}': pass --input, --output and --spec, or --seed")
    return Seed(input_path, output_path, read_spec(spec_path))


def _show(seed: Seed, run: LineEmbedding, as_json: bool) -> None:
    from omnigraph.embed.lines import Mode

    if as_json:
        say_json(embedded_file_json(run, seed.input, seed.output))
        return
    done = f"cleaned {run.cleaned:,}" if run.mode is Mode.CLEAN else f"embedded {run.embedded:,}"
    of = f"{count(run.selected, 'selected node')}, {count(run.records, 'line')}"
    say(f"{paint('ok', 'green', bold=True)}: {done} of {of}, in {click.format_filename(seed.output)}")
