"""The server on standard input and output: one client, one session."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping

import anyio
from mcp.server.stdio import stdio_server

from omnigraph.engine.graph import Graph
from omnigraph.mcp.server import make_server
from omnigraph.mcp.session import Session, Settings, StoredQuery


def new_session(graph: Graph, settings: Settings, queries: Mapping[str, StoredQuery]) -> Session:
    """A session with the clock and the randomness of this machine."""
    return Session(graph, lambda: time.time_ns() // 1_000_000, lambda: secrets.randbits(80), settings, queries)


def serve(session: Session, version: str) -> None:
    """Answer requests until the client closes standard input."""
    server = make_server(lambda _: session, version)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)
