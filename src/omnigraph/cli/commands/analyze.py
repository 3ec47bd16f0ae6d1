"""``omnigraph analyze``: graph algorithms, with results that can be written back as a property."""

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
    click.option("--edges", multiple=True, metavar="TYPE", help="Edge type to use; may be repeated. [default: all]"),
    reads_moment,
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="auto",
        help="Engine: this process (embedded), Spark, or chosen by size (auto). [default: auto]",
    ),
    click.option(
        "--top",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Number of rows to show, largest values first. [default: {TOP_ROWS}]",
    ),
    click.option("--all", "show_all", is_flag=True, help="Show every node, in storage order."),
    click.option("--column", metavar="NAME", help="Column to sort by and to write. [default: the first]"),
    format_option,
    click.option("--write", "property_", metavar="PROPERTY", help="Write the column to this property, as one commit."),
    click.option("--into", metavar="BRANCH", help="Branch to write to. [default: the branch that was read]"),
    click.option(
        "--from", "base", metavar="BRANCH", help="If the branch of --into does not exist, create it from this one."
    ),
    message_option,
    idempotency_key_option,
    writes_graph,
    actor_option,
    quiet_option,
    json_option,
)
_checkpoint_option = click.option(
    "--checkpoint", metavar="PATH", help="Directory for checkpoints; a later run resumes from the last one."
)
_weight_option = click.option(
    "--weight", metavar="PROPERTY", help="Numeric edge property used as weight. [default: every edge weighs 1]"
)
_undirected_option = click.option("--undirected", is_flag=True, help="Treat edges as undirected.")


def _iterations_option(default: int) -> Callable[[Command], Command]:
    return click.option(
        "--max-iterations",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Maximum number of iterations. [default: {default}]",
    )


@dataclass(frozen=True, slots=True)
class _Request:
    """The options that all algorithms share."""

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
        """Run an algorithm; write its result back if requested, and print it."""
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
    """A node from the command line: TYPE:ID if TYPE is a node type, otherwise an id."""
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
    """Give a command the shared options; it is called with a request and its own options."""

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
@click.option(
    "--damping",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Probability of following an edge instead of restarting. [default: 0.85]",
)
@click.option(
    "--tolerance", type=click.FloatRange(min=0), metavar="NUMBER", help="Convergence threshold. [default: 1e-6]"
)
@_iterations_option(100)
@_weight_option
@_undirected_option
@_checkpoint_option
@_analyzes
def pagerank_command(request: _Request, undirected: bool, **options: Any) -> int:
    """PageRank: the importance of every node, computed from incoming edges."""
    return request.run("pagerank", _method("pagerank"), directed=not undirected, **options)


@command.command("components")
@click.option("--strong", is_flag=True, help="Strongly connected components: follow edges in their direction.")
@_checkpoint_option
@_analyzes
def components_command(request: _Request, **options: Any) -> int:
    """Connected components: a component id for every node."""
    return request.run("components", _method("components"), **options)


@command.command("label-propagation")
@_iterations_option(20)
@_checkpoint_option
@_analyzes
def label_propagation_command(request: _Request, **options: Any) -> int:
    """Communities by label propagation."""
    return request.run("label-propagation", _method("label_propagation"), **options)


@command.command("shortest-paths")
@click.option(
    "--source", "sources", multiple=True, required=True, metavar="[TYPE:]ID", help="Source node; may be repeated."
)
@click.option(
    "--max-distance", type=click.FloatRange(min=0), metavar="NUMBER", help="Maximum distance. [default: no limit]"
)
@_weight_option
@_undirected_option
@_checkpoint_option
@_analyzes
def shortest_paths_command(request: _Request, sources: tuple[str, ...], undirected: bool, **options: Any) -> int:
    """Shortest paths: the distance of every node to the nearest source.

    If several node types take part, a source is TYPE:ID.
    """
    return request.run("shortest-paths", _method("shortest_paths"), sources=sources, directed=not undirected, **options)


@command.command("triangles")
@_analyzes
def triangles_command(request: _Request) -> int:
    """Triangle count of every node."""
    return request.run("triangles", _method("triangles"))


@command.command("degrees")
@_analyzes
def degrees_command(request: _Request) -> int:
    """Degree, in-degree and out-degree of every node."""
    return request.run("degrees", _method("degrees"))


def _method(name: str) -> Callable[..., AnalysisResult]:
    def call(analysis: Analysis, **options: Any) -> AnalysisResult:
        found: AnalysisResult = getattr(analysis, name)(**options)
        return found

    return call
