"""``omnigraph.open``: an address of a server gives a remote graph, any other one a graph in this process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, overload

from omnigraph.client.addresses import RemoteAddress, is_remote, token_of
from omnigraph.core.actors import Caller
from omnigraph.core.calls.arguments import checked
from omnigraph.engine.graph import Graph
from omnigraph.engine.graph import open_graph as open_here
from omnigraph.errors import UsageError

if TYPE_CHECKING:
    from omnigraph.client.remote_graph import RemoteGraph
    from omnigraph.client.remote_server import RemoteServer
    from omnigraph.client.transport import Transport
    from omnigraph.core.ports import Embedder
    from omnigraph.core.tuning import Tuning
    from omnigraph.engine.permits.authorizer import Authorizer
    from omnigraph.storage.objects.durability import Durability


@overload
def open_graph(uri: str, *, token: str | None, timeout: float | None = None) -> RemoteGraph: ...
@overload
def open_graph(
    uri: str | os.PathLike[str],
    *,
    create: Any = None,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = "fsync",
    embedder: Embedder | None = None,
    tuning: Tuning | None = None,
    policy: str | os.PathLike[str] | None = None,
    authorizer: Authorizer | None = None,
    actor: Caller = None,
) -> Graph: ...


@checked
def open_graph(
    uri: Any,
    *,
    token: str | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Graph | RemoteGraph:
    """Open a graph: a path, a prefix in a bucket with its ``storage_options``, or the address of a server.

    ``https://host/graphs/kb`` is a graph behind a server: a ``RemoteGraph`` with the same verbs. Its ``token`` is by
    default that of ``omnigraph login`` or of ``OMNIGRAPH_TOKEN``, and ``timeout`` the longest silence of the server in
    seconds. It takes no other options.

    A graph that does not exist is created from ``create``, a schema or data as ``omnigraph.create`` takes it. If
    several processes do this concurrently, one creates the graph and the others open it.

    The ``embedder`` turns texts of ``nearest`` and of ``@embed`` properties into vectors, for example
    ``omnigraph.embed.from_environment()``. ``tuning`` changes thresholds and sizes of the engine.

    With a ``policy``, the file of a bundle, or an ``authorizer`` of your own, every call must be allowed to its actor.
    ``actor`` is that of all calls, as in ``graph.acting_as``.
    """
    # Other values than texts and paths are left to the engine, whose message knows frames and files.
    if is_remote(uri):
        given = sorted(name for name, value in options.items() if value is not None)
        if given:
            raise UsageError(
                f"{given[0]} has no effect on a graph behind a server", hint="the operator of the server decides it"
            )
        return connect(cast(str, uri), token, timeout)
    if token is not None or timeout is not None:
        raise UsageError(
            f"{os.fspath(uri)!r} is no address of a server", hint='a token is for "https://host/graphs/kb"'
        )
    return open_here(uri, **options)


def connect(uri: str, token: str | None, timeout: float | None = None) -> RemoteGraph:
    """Make a remote graph; no request is sent yet."""
    transport = _transport(RemoteAddress.of(uri), token, timeout)
    from omnigraph.client.remote_graph import RemoteGraph

    return RemoteGraph(transport)


def connect_server(uri: str, token: str | None = None) -> RemoteServer:
    """Make a remote server from its address or from that of one of its graphs; no request is sent yet."""
    transport = _transport(RemoteAddress.of_server(uri), token, None)
    from omnigraph.client.remote_server import RemoteServer

    return RemoteServer(transport)


def _transport(address: RemoteAddress, token: str | None, timeout: float | None) -> Transport:
    found = token_of(token, address)
    if timeout is not None and not 0 < timeout < float("inf"):
        raise UsageError(f"timeout is a number of seconds above 0, not {timeout!r}", hint="like timeout=30")
    try:
        from omnigraph.client.transport import READ_SECONDS, Transport
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a graph behind a server needs {error.name}, which is not installed",
            hint='pip install "omnigraph[client]"',
        ) from error
    return Transport(address, found, timeout=READ_SECONDS if timeout is None else timeout)
