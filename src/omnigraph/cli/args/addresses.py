"""The graph of a command: its address from the command line, the environment or the settings, and opening it.

The engine is imported when a graph is opened and not before, so that help and usage errors are instant.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import click
from click.core import ParameterSource

from omnigraph.cli.args.scopes import STORE_VARIABLE, GraphWords, chosen_graph, chosen_policy, names_graph
from omnigraph.cli.args.settings import PROFILE_VARIABLE, profile_names, server_names, usual_actor
from omnigraph.cli.reach import files_reason
from omnigraph.cli.show.output import say
from omnigraph.client.addresses import is_remote
from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import UsageError

if TYPE_CHECKING:
    from omnigraph.client.remote_graph import RemoteGraph
    from omnigraph.core.ports import Embedder
    from omnigraph.engine.copies.result import CopyResult
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.schema.importing import ImportPreview, ImportResult
    from omnigraph.engine.upkeep.repair_result import RepairReport

Command: TypeAlias = Callable[..., int]

ACTOR_VARIABLE = "OMNIGRAPH_ACTOR"
DURABILITIES = ("fsync", "os")


@dataclass(frozen=True, slots=True)
class Address:
    """The location of a graph, with the options of its store, and the policy that decides about the actor."""

    uri: str
    storage_options: Mapping[str, str] = field(default_factory=dict)
    durability: str = DURABILITIES[0]
    policy: str | None = None
    actor: str | None = None

    def open(self, embedder: Embedder | None = None) -> Graph:
        """Open the graph; with a policy, as the actor. Behind a server, the actor is that of the token."""
        if self.is_behind_server:
            # A remote graph has the verbs of a graph; a verb that no server has raises an error that says so.
            return cast("Graph", self.connect())
        from omnigraph.engine.graph import open_graph

        return open_graph(
            self.uri,
            storage_options=self.storage_options,
            durability=self.durability,
            embedder=embedder,
            policy=self.policy,
            actor=None if self.policy is None else self.actor,
        )

    def connect(self) -> RemoteGraph:
        """The graph behind a server, until the command ends."""
        from omnigraph.client.opening import connect

        remote = connect(self.uri, None)
        click.get_current_context().call_on_close(remote.close)
        return remote

    def repair(self, *, apply: bool) -> RepairReport:
        """The damage of a graph, with the repair steps that are possible or, with ``apply``, were taken."""
        from omnigraph.engine.graph import repair

        return repair(self.uri, apply=apply, storage_options=self.storage_options, durability=self.durability)

    def restore(self, target: Address, *, replace: bool, deep: bool, progress: Callable[[int], None]) -> CopyResult:
        """Restore the backup at this address to another one."""
        from omnigraph.engine.graph import restore

        return restore(
            self.uri,
            target.uri,
            replace=replace,
            storage_options=self.storage_options,
            target_options=target.storage_options,
            durability=self.durability,
            deep=deep,
            progress=progress,
        )

    def create(self, schema: str, actor: str | None) -> Graph:
        """Create a graph."""
        from omnigraph.engine.graph import create

        return create(self.uri, schema, storage_options=self.storage_options, durability=self.durability, actor=actor)

    def import_data(self, data: Any, actor: str | None, progress: Callable[[int], None]) -> ImportResult[Graph]:
        """Infer the schema of data and load it."""
        from omnigraph.engine.graph import import_data

        options: dict[str, Any] = {"storage_options": self.storage_options, "durability": self.durability}
        return import_data(self.uri, data, actor=actor, progress=progress, policy=self.policy, **options)

    def preview_import(self, data: Any) -> ImportPreview:
        """The dry run of ``import_data``."""
        from omnigraph.engine.access.opening import permit_of
        from omnigraph.engine.graph import Graph
        from omnigraph.engine.schema.importing import preview_import
        from omnigraph.storage.tables.store import Store

        permit = permit_of(None, self.policy, self.actor).of_policy()
        return preview_import(Store(self.uri, self.storage_options), data, lambda store: Graph(store, permit=permit))

    def refuse_managed(self) -> None:
        """Refuse the place of a graph whose schema a cluster alone changes. A server refuses it itself."""
        if self.is_behind_server:
            return
        from omnigraph.cluster.managed import refuse_managed

        refuse_managed(self.uri, self.storage_options)

    def announce(self, verb: str, quiet: bool) -> None:
        """Name the graph that is about to be written on standard error."""
        if not quiet:
            how = "served" if self.is_behind_server else f"direct, {'local' if self.is_local else 'remote'}"
            say(f"omnigraph {verb} → {self.uri} ({how})", to_stderr=True)

    @property
    def is_behind_server(self) -> bool:
        """True for the address of a graph of a server: ``https://host/graphs/kb``."""
        return is_remote(self.uri)

    @property
    def is_local(self) -> bool:
        if self.is_behind_server:
            return False
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
    return _with_options(_addressed(command), (*_STORE_OPTIONS, *_SERVER_OPTIONS, *_READER_OPTIONS))


def may_read_graph(command: Command) -> Command:
    """The same for a command that also works without a graph: its ``address`` is then None."""

    @functools.wraps(command)
    def run(**given: Any) -> int:
        if not names_graph(GraphWords.of(given)):
            return command(address=None, **_without_graph(given))
        return _addressed(command)(**given)

    return _with_options(run, (*_STORE_OPTIONS, *_SERVER_OPTIONS, *_READER_OPTIONS))


def writes_graph(command: Command) -> Command:
    """The same for a command that writes, with the options ``--durability`` and ``--as``.

    A command with the argument ``actor`` is called with it, to sign its commits.
    """
    options = (*_STORE_OPTIONS, *_SERVER_OPTIONS, _DURABILITY_OPTION, _POLICY_OPTION, actor_option)
    return _with_options(_addressed(command), options)


def served_options(command: Command) -> Command:
    """Give a command the options that name a graph of a server; it is called with their values."""
    return _with_options(command, (*_SERVER_OPTIONS, PROFILE_OPTION))


def makes_graph(command: Command) -> Command:
    """The same for a command that makes or repairs the files of a graph, about which no policy decides."""
    return _with_options(_addressed(command), (*_STORE_OPTIONS, _DURABILITY_OPTION))


def in_cluster(command: Command) -> Command:
    """Let a command with a graph also take a graph of a cluster, with ``--cluster`` and ``--graph``."""
    known = {param.name for param in getattr(command, "__click_params__", ())}
    return _with_options(command, (_CLUSTER_OPTION,) if "graph_id" in known else (_CLUSTER_OPTION, _GRAPH_OPTION))


def reads_schema(command: Command) -> Command:
    """Give a command a schema to work with: a file (``schema_path``) or a graph (``address``), and never both."""

    @functools.wraps(command)
    def run(*, schema_path: str | None, **given: Any) -> int:
        words = GraphWords.of(given)
        if schema_path is not None:
            if words.is_explicit or words.profile is not None:
                raise click.UsageError("pass either --schema or a graph, not both")
            return command(schema_path=schema_path, address=None, **_without_graph(given))
        if not names_graph(words):
            raise click.UsageError("pass a schema with --schema, or a graph with --store")
        return _addressed(command)(schema_path=None, **given)

    option = click.option("--schema", "schema_path", metavar="FILE.pg", help="Schema file, instead of a graph.")
    return _with_options(run, (option, *_STORE_OPTIONS, *_SERVER_OPTIONS, *_READER_OPTIONS))


def _without_graph(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a command that is called without a graph."""
    names = {*GraphWords.names(), "storage_options", "policy_path", "actor"}
    return {name: value for name, value in options.items() if name not in names}


def _addressed(command: Command) -> Command:
    parameters = inspect.signature(command).parameters.values()
    signs = any(item.name == "actor" or item.kind is item.VAR_KEYWORD for item in parameters)

    @functools.wraps(command)
    def run(**given: Any) -> int:
        words = GraphWords.of(given)
        storage_options: Mapping[str, str] = given["storage_options"]
        chosen = chosen_graph(words, storage_options)
        if chosen is None:
            options = [param.opts[0] for param in click.get_current_context().command.params if param.name == "uri"]
            named = f"{options[0]}, --store," if options and options[0].startswith("--") else "--store,"
            raise click.UsageError(f"no graph is given: pass {named} or set {STORE_VARIABLE}")
        actor: str | None = given.get("actor")
        policy = chosen_policy(given.get("policy_path"), words)
        if is_remote(chosen):
            _refuse_files_only(chosen)
            _refuse_local_options(policy, storage_options)
            actor = None
        elif policy is None and not signs and _is_given("actor"):
            raise click.UsageError("--as has no effect here without a policy: pass --policy, or leave it out")
        durability = given.get("durability", DURABILITIES[0])
        signed = {"actor": actor} if signs else {}
        others = {name: value for name, value in _without_graph(given).items() if name != "durability"}
        return command(address=Address(chosen, storage_options, durability, policy, actor), **signed, **others)

    return run


def _refuse_files_only(uri: str) -> None:
    """Refuse a graph behind a server for a command that works on the files of a graph."""
    path = click.get_current_context().command_path.partition(" ")[2]
    reason = files_reason(path)
    if reason is not None:
        raise UsageError(
            f"`{path}` does not work on a remote graph: {reason}",
            hint="name the graph by the address of its files",
            uri=uri,
        )


def _refuse_local_options(policy: str | None, storage_options: Mapping[str, str]) -> None:
    """Refuse options of files for a graph behind a server. A usual actor is left out: the token names the actor."""
    given = [("--as", _is_given("actor")), ("--policy", policy is not None), ("--storage-option", storage_options)]
    for option, is_given in given:
        if is_given:
            raise click.UsageError(f"{option} has no effect on a graph behind a server: its operator decides")


def _is_given(option: str) -> bool:
    """True if an option was written on the command line, and not in the environment or the settings."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def _with_options(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def pairs(_ctx: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """The value of a repeated option ``KEY=VALUE``."""
    pairs = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not key or not sign:
            raise click.BadParameter(f"{text!r} is not key=value")
        pairs[key] = value
    return pairs


storage_options_option = click.option(
    "--storage-option",
    "storage_options",
    multiple=True,
    callback=pairs,
    metavar="KEY=VALUE",
    help="Option of the object store; may be repeated. S3 also reads the AWS_* variables.",
)
PROFILE_OPTION = click.option(
    "--profile",
    metavar="NAME",
    shell_complete=profile_names,
    help=f"Profile in the operator's settings that names the graph. [default: {PROFILE_VARIABLE}]",
)
_STORE_OPTIONS = (
    click.option(
        "--store",
        "--uri",
        metavar="URI",
        help=f"The graph: a path, s3://... or https://host/graphs/ID. [default: {STORE_VARIABLE}]",
    ),
    PROFILE_OPTION,
    storage_options_option,
)
_GRAPH_OPTION = click.option(
    "--graph", "graph_id", metavar="ID", help="Graph of the server or cluster. [default: that of the settings]"
)
SERVER_OPTION = click.option(
    "--server",
    metavar="NAME|URL",
    shell_complete=server_names,
    help="Server of the graph: a name in the settings, or its address.",
)
_SERVER_OPTIONS = (SERVER_OPTION, _GRAPH_OPTION)
_CLUSTER_OPTION = click.option(
    "--cluster",
    metavar="NAME|DIR|URI",
    help="Cluster of the graph, instead of its address. [default for --graph: the only graph that was applied]",
)
_POLICY_OPTION = click.option(
    "--policy",
    "--access-policy",
    "policy_path",
    metavar="FILE",
    help="Policy bundle that decides what the actor may do. [default: the policy of the profile, if it has one]",
)
_READER_OPTIONS = (
    _POLICY_OPTION,
    click.option(
        "--as",
        "actor",
        metavar="ACTOR",
        envvar=ACTOR_VARIABLE,
        default=usual_actor,
        help=f"Actor that the policy decides about. [default: {ACTOR_VARIABLE}, then the actor of the settings]",
    ),
)
actor_option = click.option(
    "--as",
    "actor",
    metavar="ACTOR",
    envvar=ACTOR_VARIABLE,
    default=usual_actor,
    help=f"Author of the commit. [default: {ACTOR_VARIABLE}, then the actor of the operator's settings]",
)
_DURABILITY_OPTION = click.option(
    "--durability",
    type=click.Choice(DURABILITIES),
    default=DURABILITIES[0],
    help="Durability on a local disk: writes survive loss of power (fsync) or only a crash of the process (os). "
    "[default: fsync]",
)
