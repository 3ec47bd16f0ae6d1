"""The ASGI application: requests are matched with the route table, answered, counted and logged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from omnigraph.core.ports import IdSource
from omnigraph.engine.telemetry import is_tracing
from omnigraph.server.access.admission import Admission
from omnigraph.server.agents import ROUTE, AgentTools, graph_of
from omnigraph.server.http.answers import CLIENT_GONE, log_failure, reply_to
from omnigraph.server.http.cancelling import Cancelling
from omnigraph.server.http.matching import PathTable
from omnigraph.server.http.sending import send_reply
from omnigraph.server.http.streams import BrokenStream, Transport
from omnigraph.server.operations.access_log import Entry, NumberedIds
from omnigraph.server.operations.latencies import Latencies
from omnigraph.server.operations.metrics import Metrics
from omnigraph.server.operations.routes import operating_routes
from omnigraph.server.operations.tracing import request_span
from omnigraph.server.passage import Passage
from omnigraph.server.routes.rows import Route
from omnigraph.server.runners import InThreads, Runner
from omnigraph.server.serving.graphs import Serving

logger = logging.getLogger("omnigraph.server")

BAD_REQUEST: Final = 400
"""The first status of an error."""


class ServerApp:
    """The application. ``serving`` may be replaced while requests run; a request keeps the one it began with.

    ``guard`` refuses requests before anything else looks at them.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        serving: Serving,
        *,
        admission: Admission | None = None,
        runner: Runner | None = None,
        ids: IdSource | None = None,
        mounts: Mapping[str, ASGIApp] | None = None,
        metrics: Metrics | None = None,
        agents: AgentTools | None = None,
        guard: Callable[[Request], None] | None = None,
    ) -> None:
        self.serving = serving
        self.metrics = metrics or Metrics()
        self.latencies = Latencies()
        self.runner = runner or InThreads()
        self.runner.report_to(self.metrics)
        rows = (*routes, *operating_routes(self.metrics, self._unreadiness, self.latencies))
        self._table = PathTable((route.operation.method, route.operation.path, route) for route in rows)
        self._passage = Passage(admission or Admission(), self.runner, Transport())
        self._ids = ids or NumberedIds()
        self._mounts = {} if mounts is None else mounts
        self._guard = guard
        self._agents = agents
        self._running: set[Cancelling] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        path = scope["raw_path"].decode("latin-1")
        mounted = self._mount(path)
        if mounted is not None:
            await mounted(scope, receive, send)
        else:
            await self._serve(Request(scope, receive), path, send)

    def _mount(self, path: str) -> ASGIApp | None:
        """The application below the first segment of a path. An empty one is the path ``/``, not ``//x`` or ``*``."""
        segment = path[1:].partition("/")[0]
        return self._mounts.get(segment) if segment or path == "/" else None

    def cancel_all(self) -> None:
        """Cancel the reads that run, at the end of the grace period of a stop."""
        for cancel in list(self._running):
            cancel.set()

    async def _serve(self, request: Request, path: str, send: Send) -> None:
        entry = Entry(self._ids.new_id(), request.method)
        if not is_tracing():
            await self._counted(request, path, send, entry)
            return
        with request_span(request.headers) as describe:
            try:
                await self._counted(request, path, send, entry)
            finally:
                describe(entry.attributes)

    async def _counted(self, request: Request, path: str, send: Send, entry: Entry) -> None:
        """Answer a request, count it, and log it."""
        cancel = Cancelling()
        self._running.add(cancel)
        self.metrics.began()
        try:
            await self._answer(request, path, send, entry, cancel)
        except BrokenStream as error:
            logger.error("request %s: %s; the connection is closed", entry.id, error)
            raise
        finally:
            self._running.discard(cancel)
            self.metrics.ended(entry.method, entry.route, entry.status, entry.graph, entry.seconds)
            if entry.route is not None:
                self.latencies.ended(f"{entry.method} {entry.route}", entry.status, entry.seconds)
            entry.log()

    async def _answer(self, request: Request, path: str, send: Send, entry: Entry, cancel: Cancelling) -> None:
        try:
            if self._guard is not None:
                self._guard(request)
            graph_id = None if self._agents is None else graph_of(path)
            if self._agents is not None and graph_id is not None:
                entry.route, entry.graph = ROUTE, self._known(graph_id)
                entry.status = await self._agents.answer(request, graph_id, self.serving, send)
                return
            match = self._table.match(request.method, path)
            entry.route, entry.graph = match.row.operation.path, self._known(match.parameters.get("graph_id"))
            reply = await self._passage.reply(request, match, self.serving, entry.id, cancel)
        except Exception as error:
            log_failure(error, entry.id)
            reply = reply_to(error, entry.id)
        entry.status = reply.status
        if reply.status >= BAD_REQUEST and "expect" in request.headers:
            # A client that waits for 100 (Continue) has not sent its body, and whatever it sends next would be taken
            # for that.
            reply = reply.with_headers({"connection": "close"})
        if reply.status != CLIENT_GONE:
            without_body = request.method == "HEAD" or reply.status == 304
            if without_body:
                # Both name the length of a body that is not sent, which uvicorn (httptools) accepts for HEAD alone.
                request.scope["method"] = "HEAD"
            await send_reply(reply, request.receive, send, self.runner, cancel, without_body=without_body)

    def _known(self, graph: str | None) -> str | None:
        """The id of a graph, if it is served: a client must not be able to make labels and lines of the log."""
        return graph if graph in self.serving.graphs else None

    def _unreadiness(self) -> list[str]:
        """The reasons why requests cannot be served now."""
        reasons = {
            "no keys of the issuer of tokens are known": not self.serving.authenticator.is_ready,
            "no reader runs": not self.runner.is_ready,
        }
        return [text for text, is_so in reasons.items() if is_so]


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
