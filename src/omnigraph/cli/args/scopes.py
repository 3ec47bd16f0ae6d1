"""The choice of a graph: by its address, or as a graph of a server or cluster; from options, environment or settings.

Options of one command come first, then a profile, then the defaults of the settings, as in Omnigraph 0.10.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import click

from omnigraph.cli.args.settings import PROFILE_VARIABLE, settings
from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import PolicyDenied, RemoteUnsupported, UsageError

STORE_VARIABLE = "OMNIGRAPH_STORE"


@dataclass(frozen=True, slots=True)
class GraphWords:
    """The parts of a command line that name a graph. The fields have the names of the parameters."""

    uri: str | None = None
    store: str | None = None
    server: str | None = None
    cluster: str | None = None
    graph_id: str | None = None
    profile: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> GraphWords:
        """The words among the parameters of a command."""
        return cls(*(given.get(name) for name in cls.names()))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(item.name for item in fields(cls))

    @property
    def places(self) -> list[str]:
        """The places that are named; more than one contradict each other."""
        given = (("URI", self.uri), ("--store", self.store), ("--server", self.server), ("--cluster", self.cluster))
        return [word for word, value in given if value is not None]

    @property
    def is_explicit(self) -> bool:
        """True if the command line itself names a graph."""
        return bool(self.places)


def names_graph(words: GraphWords) -> bool:
    """True if a graph is named anywhere."""
    named = words.is_explicit or words.profile or os.environ.get(STORE_VARIABLE) or os.environ.get(PROFILE_VARIABLE)
    return bool(named or settings().store or settings().server)


def chosen_graph(words: GraphWords, storage_options: Mapping[str, str]) -> str | None:
    """The address of the graph; None if none is named. Raises UsageError for a contradiction."""
    if len(words.places) > 1:
        raise click.UsageError(
            f"the graph is given twice: pass either {words.places[0]} or {words.places[1]}, not both"
        )
    config = settings()
    if direct := words.uri or words.store:
        return _alone(direct, words)
    if words.server is not None:
        return _of_server(config.server_url(words.server), words.graph_id)
    if words.cluster is not None:
        return _of_cluster(words.cluster, words.graph_id, storage_options)
    usual = os.environ.get(STORE_VARIABLE)
    if words.profile is None and usual and words.graph_id is None:
        return usual
    profile = words.profile or os.environ.get(PROFILE_VARIABLE)
    if profile:
        return _of_profile(profile, words, storage_options)
    if config.server is not None:
        return _of_server(config.server_url(config.server), words.graph_id or config.default_graph)
    if config.store is None and words.graph_id is not None:
        raise click.UsageError("--graph names a graph of a server or cluster: pass --server as well")
    return None if config.store is None else _alone(config.store, words)


def chosen_server(words: GraphWords) -> str | None:
    """The address of the server that is named; None if none is."""
    config = settings()
    profile = words.profile or os.environ.get(PROFILE_VARIABLE)
    if words.server is not None:
        return config.server_url(words.server)
    if profile:
        bound = config.profile(profile).bindings
        if "server" not in bound:
            raise UsageError(f"profile {profile!r} names a {next(iter(bound))} and no server", profile=profile)
        return config.server_url(bound["server"])
    return None if config.server is None else config.server_url(config.server)


def chosen_cluster(words: GraphWords) -> tuple[str, str | None] | None:
    """The place of the cluster that is named, by itself or by a profile, and the graph in it; None if none is."""
    config = settings()
    if words.cluster is not None:
        return config.cluster_root(words.cluster), words.graph_id
    name = None if words.is_explicit else words.profile or os.environ.get(PROFILE_VARIABLE)
    profile = None if name is None else config.profile(name)
    if profile is None or "cluster" not in profile.bindings:
        return None
    return config.cluster_root(profile.bindings["cluster"]), words.graph_id or profile.default_graph


def chosen_policy(policy: str | None, words: GraphWords) -> str | None:
    """The policy of the command line, else that of the profile that names the graph."""
    is_named = words.is_explicit or os.environ.get(STORE_VARIABLE)
    named = words.profile or (None if is_named else os.environ.get(PROFILE_VARIABLE))
    return policy if policy is not None or named is None else settings().profile(named).policy


def _alone(uri: str, words: GraphWords) -> str:
    """An address that names a graph by itself."""
    if words.graph_id is not None:
        raise click.UsageError(f"--graph names a graph of a server or cluster, but {uri} is a graph itself")
    return uri


def _of_profile(name: str, words: GraphWords, storage_options: Mapping[str, str]) -> str:
    config = settings()
    profile = config.profile(name)
    ((kind, target),) = profile.bindings.items()
    graph_id = words.graph_id or profile.default_graph
    match kind:
        case "server":
            return _of_server(config.server_url(target), graph_id)
        case "cluster":
            if not _takes_cluster():
                raise UsageError(
                    f"profile {name!r} names a cluster, whose files only maintenance commands work on",
                    hint="name the server of the cluster with --server, or another profile",
                    profile=name,
                )
            return _of_cluster(target, graph_id, storage_options)
        case _:
            return _alone(target, words)


def _takes_cluster() -> bool:
    """True for a command with ``--cluster``; the others have it hidden, to refuse it."""
    params = click.get_current_context().command.params
    return any(param.name == "cluster" and not getattr(param, "hidden", False) for param in params)


def _of_cluster(named: str, graph_id: str | None, storage_options: Mapping[str, str]) -> str:
    from omnigraph.cluster.applied import applied_graph

    return applied_graph(settings().cluster_root(named), graph_id, storage_options)


def _of_server(url: str, graph_id: str | None) -> str:
    """The address of a graph of a server. Without an id, the error names the graphs that may be meant."""
    from omnigraph.client.addresses import RemoteAddress, graph_named_by
    from omnigraph.client.opening import connect_server

    if graph_id is not None:
        return RemoteAddress.of_server(url).graph(graph_id)
    if graph_named_by(url) is not None:
        return url
    server = connect_server(url)
    try:
        known = ", ".join(entry.graph_id for entry in server.graphs()) or "none"
    except (PolicyDenied, RemoteUnsupported):
        known = None
    finally:
        server.close()
    found = "; it does not list its graphs" if known is None else f"; it has: {known}"
    raise UsageError(f"no graph of the server {url} is named{found}", hint="pass --graph ID", server=url)
