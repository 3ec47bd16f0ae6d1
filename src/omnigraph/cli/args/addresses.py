"""The graph of a command: its address from the command line, the environment or the settings, and opening it.

The engine is imported when a graph is opened and not before, so that help and usage errors are instant.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from omnigraph.cli.args.settings import PROFILE_VARIABLE, profile_names, settings
from omnigraph.cli.show.output import say
from omnigraph.errors import UsageError

if TYPE_CHECKING:
    from omnigraph.core.ports import Embedder
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.upkeep.repair_result import RepairReport

Command: TypeAlias = Callable[..., int]

STORE_VARIABLE = "OMNIGRAPH_STORE"
DURABILITIES = ("fsync", "os")


@dataclass(frozen=True, slots=True)
class Address:
    """The location of a graph, with the options of its store."""

    uri: str
    storage_options: Mapping[str, str] = field(default_factory=dict)
    durability: str = DURABILITIES[0]

    def open(self, embedder: Embedder | None = None) -> Graph:
        """Open the graph."""
        from omnigraph.engine.graph import open_graph

        return open_graph(self.uri, storage_options=self.storage_options, durability=self.durability, embedder=embedder)

    def repair(self, *, apply: bool) -> RepairReport:
        """The damage of a graph, with the repair steps that are possible or, with ``apply``, were taken."""
        from omnigraph.engine.graph import repair

        return repair(self.uri, apply=apply, storage_options=self.storage_options, durability=self.durability)

    def create(self, schema: str, actor: str | None) -> Graph:
        """Create a graph."""
        from omnigraph.engine.graph import create

        return create(self.uri, schema, storage_options=self.storage_options, durability=self.durability, actor=actor)

    def announce(self, verb: str, quiet: bool) -> None:
        """Name the graph that is about to be written on standard error."""
        if not quiet:
            say(f"omnigraph {verb} → {self.uri} (direct, {'local' if self.is_local else 'remote'})", to_stderr=True)

    @property
    def is_local(self) -> bool:
        from omnigraph.storage.objects.backends import parse_root

        return parse_root(self.uri).is_local

    def confirm_loss(self, what: str, *, yes: bool) -> None:
        """Ask for confirmation before data is lost in a remote store, which may be shared. Local graphs need none."""
        if yes or self.is_local:
            return
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UsageError(f"this would {what} at {self.uri}", hint="pass --yes to confirm")
        if not click.confirm(f"This will {what} at {self.uri}. Continue?", err=True):
            raise click.ClickException("not confirmed; nothing was changed")


uri_argument = click.argument("uri", required=False)


def reads_graph(command: Command) -> Command:
    """Give a command the options that name a graph; it is called with an ``address``."""
    return _with_options(_addressed(command), _STORE_OPTIONS)


def may_read_graph(command: Command) -> Command:
    """The same for a command that also works without a graph: its ``address`` is then None."""

    @functools.wraps(command)
    def run(*, store: str | None, profile: str | None, uri: str | None = None, **others: Any) -> int:
        if chosen_store(uri, store, profile) is None:
            others.pop("storage_options")
            return command(address=None, **others)
        return _addressed(command)(store=store, profile=profile, uri=uri, **others)

    return _with_options(run, _STORE_OPTIONS)


def writes_graph(command: Command) -> Command:
    """The same for a command that writes, with the option ``--durability``."""
    return _with_options(_addressed(command), (*_STORE_OPTIONS, _DURABILITY_OPTION))


def reads_schema(command: Command) -> Command:
    """Give a command a schema to work with: a file (``schema_path``) or a graph (``address``), and never both."""

    @functools.wraps(command)
    def run(
        *, schema_path: str | None, store: str | None, profile: str | None, uri: str | None = None, **others: Any
    ) -> int:
        if schema_path is not None:
            if uri is not None or store is not None or profile is not None:
                raise click.UsageError("pass either --schema or a graph, not both")
            others.pop("storage_options")
            return command(schema_path=schema_path, address=None, **others)
        if chosen_store(uri, store, profile) is None:
            raise click.UsageError("pass a schema with --schema, or a graph with --store")
        return _addressed(command)(schema_path=None, store=store, profile=profile, uri=uri, **others)

    option = click.option("--schema", "schema_path", metavar="FILE.pg", help="Schema file, instead of a graph.")
    return _with_options(run, (option, *_STORE_OPTIONS))


def _addressed(command: Command) -> Command:
    @functools.wraps(command)
    def run(
        *,
        store: str | None,
        profile: str | None,
        storage_options: Mapping[str, str],
        uri: str | None = None,
        durability: str = DURABILITIES[0],
        **others: Any,
    ) -> int:
        chosen = chosen_store(uri, store, profile)
        if chosen is None:
            raise click.UsageError(f"no graph is given: pass --store, or set {STORE_VARIABLE}")
        return command(address=Address(chosen, storage_options, durability), **others)

    return run


def chosen_store(uri: str | None, store: str | None, profile: str | None) -> str | None:
    """The address of a graph, from the command line, else the environment, else the operator's settings."""
    named = [word for word, given in (("URI", uri), ("--store", store), ("--profile", profile)) if given is not None]
    if len(named) > 1:
        raise click.UsageError(f"the graph is given twice: pass either {named[0]} or {named[1]}, not both")
    if profile is not None:
        return _profile_store(profile)
    if chosen := uri or store or os.environ.get(STORE_VARIABLE):
        return chosen
    if usual := os.environ.get(PROFILE_VARIABLE):
        return _profile_store(usual)
    return settings().store


def _profile_store(name: str) -> str:
    profile = settings().profile(name)
    if "store" not in profile.bindings:
        (kind,) = profile.bindings
        raise UsageError(f"profile {name!r} names a {kind}, but this version supports stores only", profile=name)
    return profile.bindings["store"]


def _with_options(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def _pairs(_ctx: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not key or not sign:
            raise click.BadParameter(f"{text!r} is not key=value")
        pairs[key] = value
    return pairs


_STORE_OPTIONS = (
    click.option("--store", "--uri", metavar="URI", help=f"The graph: a path or s3://... [default: {STORE_VARIABLE}]"),
    click.option(
        "--profile",
        metavar="NAME",
        shell_complete=profile_names,
        help=f"Profile in the operator's settings that names the graph. [default: {PROFILE_VARIABLE}]",
    ),
    click.option(
        "--storage-option",
        "storage_options",
        multiple=True,
        callback=_pairs,
        metavar="KEY=VALUE",
        help="Option of the object store; may be repeated. S3 also reads the AWS_* variables.",
    ),
)
_DURABILITY_OPTION = click.option(
    "--durability",
    type=click.Choice(DURABILITIES),
    default=DURABILITIES[0],
    help="Durability on a local disk: writes survive loss of power (fsync) or only a crash of the process (os). "
    "[default: fsync]",
)
