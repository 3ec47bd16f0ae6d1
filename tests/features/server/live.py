"""A live server in this process: the application behind uvicorn on a free port of loopback, and clients for it."""

import asyncio
import socket
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn

from omnigraph.core.actors import Actor
from omnigraph.engine.graph import Graph
from omnigraph.engine.permits.authorizer import Authorizer
from omnigraph.manifest.layout import MAIN
from omnigraph.server.access.admission import Admission
from omnigraph.server.access.states import State
from omnigraph.server.app import ServerApp
from omnigraph.server.auth.static_tokens import StaticTokens
from omnigraph.server.auth.verifying import Authenticator
from omnigraph.server.routes.table import ROUTES
from omnigraph.server.run import KEEP_ALIVE_SECONDS
from omnigraph.server.serving.graphs import ServedGraph, Serving
from omnigraph.server.serving.stored_queries import StoredQuery, stored_query

GRAPH_ID = "kb"
BASE = f"/graphs/{GRAPH_ID}"
READ_ALL = "query everyone() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }"


class Live:
    """A server that runs."""

    def __init__(self, app: ServerApp, port: int, loop: asyncio.AbstractEventLoop) -> None:
        self.app = app
        self._loop = loop
        self.port = port
        self.address = f"http://127.0.0.1:{port}"

    def client(self, token: str | None = None, **options: Any) -> httpx2.Client:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        # Without verification no certificates are loaded, which would take longer than most requests.
        return httpx2.Client(base_url=self.address, headers=headers, timeout=60, verify=False, **options)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run something on the event loop of the server."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def connect(self) -> socket.socket:
        """A bare connection, for requests that no client library would send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


@contextmanager
def running(serving: Serving, **options: Any) -> Iterator[Live]:
    """Serve until the block ends."""
    app = ServerApp(ROUTES, serving, **options)
    config = uvicorn.Config(
        app,
        port=0,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        # The default is as long as clients keep idle connections, so both would end one at the same moment.
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    try:
        yield Live(app, server.servers[0].sockets[0].getsockname()[1], server.servers[0].get_loop())
    finally:
        server.should_exit = True
        thread.join()


def queries_of(graph: Graph, *texts: str) -> dict[str, StoredQuery]:
    """Stored queries; each text declares one."""
    names = [text.split("(")[0].removeprefix("query").strip() for text in texts]
    return {name: stored_query(name, text, graph.catalog(MAIN)) for name, text in zip(names, texts, strict=True)}


def serving_of(
    graph: Graph,
    *,
    tokens: Mapping[str, str] | None = None,
    authorizer: Authorizer | None = None,
    state: State = State.OPEN,
    queries: Mapping[str, StoredQuery] | None = None,
    server_policy: Authorizer | None = None,
    is_declared: bool = False,
    **options: Any,
) -> Serving:
    """One graph, in any state of authorisation."""
    served = ServedGraph(GRAPH_ID, graph, authorizer, queries or {}, is_declared)
    authenticator = Authenticator([StaticTokens.of(tokens)]) if tokens else Authenticator()
    return Serving({GRAPH_ID: served}, authenticator, state, server_policy, **options)


def admission(**options: Any) -> Admission:
    return Admission(**options)


ANN = Actor("ann")
