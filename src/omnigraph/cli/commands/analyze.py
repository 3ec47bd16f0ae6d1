"""``omnigraph analyze``: graph algorithms, with results that can be written back as a property."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import Address, Command, writes_graph
from omnigraph.cli.args.moments import chosen_moment, reads_moment
from omnigraph.cli.args.options import idempotency_key_option, json_option, message_option, quiet_option
from omnigraph.cli.args.row_output import chosen_format, format_option, show_rows
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.engine.engine_choice import ENGINES
from omnigraph.exec.analytics.registry import ALGORITHMS, Algorithm, Kind, Parameter

if TYPE_CHECKING:
    from omnigraph.engine.analysis.result import AnalysisResult
    from omnigraph.engine.query.result import QueryResult
    from omnigraph.engine.results import LoadResult

TOP_ROWS = 10

_READ_OPTIONS: tuple[Callable[[Command], Command], ...] = (
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
    click.option("--all", "show_all", is_flag=True, help="Show all rows, in storage order."),
)
_WRITE_OPTIONS: tuple[Callable[[Command], Command], ...] = (
    click.option("--column", metavar="NAME", help="Column to sort by and to write. [default: the first]"),
    click.option("--write", "property_", metavar="PROPERTY", help="Write the column to this property, as one commit."),
    click.option("--into", metavar="BRANCH", help="Branch to write to. [default: the branch that was read]"),
    click.option(
        "--from", "base", metavar="BRANCH", help="If the branch of --into does not exist, create it from this one."
    ),
    message_option,
    idempotency_key_option,
)
"""Only for algorithms that give a value for every node."""

_OUTPUT_OPTIONS: tuple[Callable[[Command], Command], ...] = (format_option, writes_graph, quiet_option, json_option)
_checkpoint_option = click.option(
    "--checkpoint",
    metavar="PATH",
    help="Write checkpoints to this directory, and resume from one that an interrupted run left there.",
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
    format_: str | None
    quiet: bool
    as_json: bool
    column: str | None = None
    property_: str | None = None
    into: str | None = None
    base: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
    actor: str | None = None

    def run(self, algorithm: Algorithm, options: Mapping[str, Any]) -> int:
        """Run an algorithm, write and show what it found."""
        if self.top is not None and self.show_all:
            raise click.UsageError("pass either --top or --all, not both")
        if self.property_ is None and (self.into or self.base):
            raise click.UsageError("--into and --from need --write")
        chosen = chosen_format(self.format_, as_json=self.as_json)
        moment = chosen_moment(self.at, self.snapshot)
        graph = self.address.open()
        given = {name: value for name, value in options.items() if value is not None}
        for parameter in algorithm.parameters:
            if parameter.kind is Kind.NODES:
                types = graph.snapshot(self.branch, at=moment).catalog.nodes
                given[parameter.name] = [_source(text, types) for text in given[parameter.name]]
        result = graph.analyze.run(
            algorithm.name, self.edges or None, branch=self.branch, at=moment, engine=self.engine, **given
        )
        written = None
        if self.property_ is not None:
            self.address.announce(f"analyze {algorithm.verb}", self.quiet)
            written = self._write(result, self.property_)
        rows: QueryResult = result
        if not self.show_all:
            count = TOP_ROWS if self.top is None else self.top
            rows = result.top(count, self.column) if algorithm.is_per_node else result.head(count)
        self._show(rows, result, chosen, written)
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

    def _show(self, rows: QueryResult, result: AnalysisResult, format_: str, written: LoadResult | None) -> None:
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


def _command(algorithm: Algorithm) -> click.Command:
    """The subcommand of an algorithm: its parameters as options, then the options of every algorithm."""

    def run(*, actor: str | None, **given: Any) -> int:
        names = _Request.__dataclass_fields__
        request = _Request(actor=actor, **{name: value for name, value in given.items() if name in names})
        return request.run(algorithm, {name: value for name, value in given.items() if name not in names})

    options = [_option(parameter) for parameter in algorithm.parameters if parameter.option is not None]
    if algorithm.has_rounds:
        options.append(_checkpoint_option)
    written = _WRITE_OPTIONS if algorithm.is_per_node else ()
    wrapped: Command = run
    for option in reversed((*options, *_READ_OPTIONS, *written, *_OUTPUT_OPTIONS)):
        wrapped = option(wrapped)
    text = f"{algorithm.summary}\n\n{algorithm.details}".rstrip()
    return click.command(algorithm.verb, help=text)(wrapped)


def _option(parameter: Parameter) -> Callable[[Command], Command]:
    assert parameter.option is not None
    words: tuple[str, ...] = (parameter.option, parameter.name)
    about: dict[str, Any] = {"help": parameter.help, "metavar": parameter.metavar}
    match parameter.kind:
        case Kind.FLAG:
            # A flag that is on by default has an option to switch it off: --undirected for directed.
            return click.option(
                *words, flag_value=not parameter.default, default=parameter.default, help=parameter.help
            )
        case Kind.INTEGER:
            kind = click.IntRange(_whole(parameter.low), _whole(parameter.high))
            return click.option(*words, type=kind, default=parameter.default, show_default=True, **about)
        case Kind.NUMBER:
            range_ = click.FloatRange(parameter.low, parameter.high)
            return click.option(*words, type=range_, default=parameter.default, show_default=True, **about)
        case Kind.NODES:
            return click.option(*words, multiple=True, required=parameter.is_required, **about)
        case _:
            return click.option(*words, **about)


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


for _algorithm in ALGORITHMS.values():
    command.add_command(_command(_algorithm))
