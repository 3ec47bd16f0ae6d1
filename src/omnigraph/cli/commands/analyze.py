"""``omnigraph analyze``: algorithms over a whole graph, and their results as a property."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import Address, Command, writes_graph
from omnigraph.cli.args.moments import chosen_moment, reads_moment
from omnigraph.cli.args.options import actor_option, idempotency_key_option, json_option, message_option, quiet_option
from omnigraph.cli.args.row_output import chosen_format, format_option, show_rows
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.engine.engine_choice import ENGINES

if TYPE_CHECKING:
    from omnigraph.engine.analysis.result import AnalysisResult
    from omnigraph.engine.analysis.run import Analysis
    from omnigraph.engine.results import LoadResult

TOP_ROWS = 10

_OPTIONS: tuple[Callable[[Command], Command], ...] = (
    click.option("--edges", multiple=True, metavar="TYPE", help="An edge type; may be repeated. All if not given."),
    reads_moment,
    click.option("--engine", type=click.Choice(ENGINES), default="auto", help="Who works; by size if not given."),
    click.option("--top", type=click.IntRange(min=0), metavar="N", help=f"Rows to show; {TOP_ROWS} if not given."),
    click.option("--all", "show_all", is_flag=True, help="Show every node, in the order of the tables."),
    click.option("--column", metavar="NAME", help="The column to order by and to write; the first if not given."),
    format_option,
    click.option(
        "--write", "property_", metavar="PROPERTY", help="Write the column into this property, as one commit."
    ),
    click.option("--into", metavar="BRANCH", help="The branch to write to; the one that is read if not given."),
    click.option("--from", "base", metavar="BRANCH", help="Make that branch from this one first, if it is missing."),
    message_option,
    idempotency_key_option,
    writes_graph,
    actor_option,
    quiet_option,
    json_option,
)
_checkpoint_option = click.option(
    "--checkpoint", metavar="PATH", help="Keep rounds in this directory, and go on from what an earlier run kept there."
)
_weight_option = click.option("--weight", metavar="PROPERTY", help="A number of the edges to weigh them by.")
_undirected_option = click.option("--undirected", is_flag=True, help="Follow edges in both directions.")
_iterations_option = click.option(
    "--max-iterations", type=click.IntRange(min=1), metavar="N", help="Stop after so many rounds."
)


@dataclass(frozen=True, slots=True)
class _Request:
    """What is the same for all algorithms."""

    address: Address
    edges: tuple[str, ...]
    branch: str | None
    at: str | None
    snapshot: str | None
    engine: str
    top: int | None
    show_all: bool
    column: str | None
    format_: str | None
    property_: str | None
    into: str | None
    base: str | None
    message: str | None
    idempotency_key: str | None
    actor: str | None
    quiet: bool
    as_json: bool

    def run(self, verb: str, algorithm: Callable[..., AnalysisResult], **options: Any) -> int:
        """Run an algorithm, write and show what it found."""
        if self.top is not None and self.show_all:
            raise click.UsageError("pass either --top or --all, not both")
        if self.property_ is None and (self.into or self.base):
            raise click.UsageError("--into and --from need --write")
        chosen = chosen_format(self.format_, as_json=self.as_json)
        moment = chosen_moment(self.at, self.snapshot)
        graph = self.address.open()
        given = {name: value for name, value in options.items() if value is not None}
        if "sources" in given:
            types = graph.snapshot(self.branch, at=moment).catalog.nodes
            given["sources"] = [_source(text, types) for text in given["sources"]]
        result = algorithm(
            graph.analyze, edges=self.edges or None, branch=self.branch, at=moment, engine=self.engine, **given
        )
        written = None
        if self.property_ is not None:
            self.address.announce(f"analyze {verb}", self.quiet)
            written = self._write(result, self.property_)
        self._show(result, chosen, written)
        return OK

    def _write(self, result: AnalysisResult, property_: str) -> LoadResult:
        return result.write(
            property_,
            column=self.column,
            branch=self.into,
            base=self.base,
            actor=self.actor,
            message=self.message,
            idempotency_key=self.idempotency_key,
        )

    def _show(self, result: AnalysisResult, format_: str, written: LoadResult | None) -> None:
        result.column(self.column)
        rows = result if self.show_all else result.top(TOP_ROWS if self.top is None else self.top, self.column)
        if format_ == "json":
            from omnigraph.wire.results import analysis_json

            say_json(analysis_json(rows, result, written))
            return
        show_rows(rows, format_)
        is_for_people = format_ in ("table", "kv")
        if is_for_people:
            say(", ".join(f"{name}: {_shown(value)}" for name, value in result.facts.items()))
        if written is not None:
            ok = paint("ok", "green", bold=True)
            changed = count(written.total, "node")
            say(f"{ok}: {changed} changed on {written.branch}, commit {written.commit.id}", to_stderr=not is_for_people)


def _source(text: str, types: Collection[str]) -> str | tuple[str, str]:
    """A node as it is named in the command line: TYPE:ID if that is a type, else an id."""
    type_name, sign, id_ = text.partition(":")
    return (type_name, id_) if sign and type_name in types else text


def _shown(value: float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


@click.group("analyze", cls=CommandGroup)
def command() -> None:
    """Run an algorithm over a whole graph."""


def _analyzes(function: Callable[..., int]) -> Command:
    """Give a command what all algorithms have; it is called with a request and its own options."""

    @functools.wraps(function)
    def run(**given: Any) -> int:
        names = _Request.__dataclass_fields__
        request = _Request(**{name: value for name, value in given.items() if name in names})
        return function(request, **{name: value for name, value in given.items() if name not in names})

    wrapped: Command = run
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


@command.command("pagerank")
@click.option("--damping", type=click.FloatRange(0, 1), metavar="SHARE", help="How often an edge is followed; 0.85.")
@click.option("--tolerance", type=click.FloatRange(min=0), metavar="NUMBER", help="When to stop; 1e-6.")
@_iterations_option
@_weight_option
@_undirected_option
@_checkpoint_option
@_analyzes
def pagerank_command(request: _Request, undirected: bool, **options: Any) -> int:
    """How important every node is by who points to it."""
    return request.run("pagerank", _method("pagerank"), directed=not undirected, **options)


@command.command("components")
@click.option("--strong", is_flag=True, help="Only nodes that reach each other along the edges.")
@_checkpoint_option
@_analyzes
def components_command(request: _Request, **options: Any) -> int:
    """Which nodes are connected."""
    return request.run("components", _method("components"), **options)


@command.command("label-propagation")
@_iterations_option
@_checkpoint_option
@_analyzes
def label_propagation_command(request: _Request, **options: Any) -> int:
    """Communities: nodes that share most of their connections."""
    return request.run("label-propagation", _method("label_propagation"), **options)


@command.command("shortest-paths")
@click.option("--source", "sources", multiple=True, required=True, metavar="[TYPE:]ID", help="Where paths begin.")
@click.option("--max-distance", type=click.FloatRange(min=0), metavar="NUMBER", help="How far to look.")
@_weight_option
@_undirected_option
@_checkpoint_option
@_analyzes
def shortest_paths_command(request: _Request, sources: tuple[str, ...], undirected: bool, **options: Any) -> int:
    """How far every node is from the nearest source.

    Where several node types take part, a source is TYPE:ID.
    """
    return request.run("shortest-paths", _method("shortest_paths"), sources=sources, directed=not undirected, **options)


@command.command("triangles")
@_analyzes
def triangles_command(request: _Request) -> int:
    """How many triangles every node is part of."""
    return request.run("triangles", _method("triangles"))


@command.command("degrees")
@_analyzes
def degrees_command(request: _Request) -> int:
    """How many edges every node has."""
    return request.run("degrees", _method("degrees"))


def _method(name: str) -> Callable[..., AnalysisResult]:
    def call(analysis: Analysis, **options: Any) -> AnalysisResult:
        found: AnalysisResult = getattr(analysis, name)(**options)
        return found

    return call
