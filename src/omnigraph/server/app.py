"""The ASGI application: requests are matched with the route table, answered, and logged.

Errors of the tree become their answers here. Anything else is a bug: the client gets a fixed text and the id of the
request, under which the log has the rest.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from omnigraph.core.ports import IdSource, UlidSource
from omnigraph.errors import OmnigraphError
from omnigraph.server.access.admission import Admission
from omnigraph.server.http.matching import Match, PathTable
from omnigraph.server.http.refusals import PLAIN_TEXT, Refusal, Rejection
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.http.sending import send_reply
from omnigraph.server.http.streams import BrokenStream, Transport
from omnigraph.server.passage import Passage
from omnigraph.server.routes.rows import Route
from omnigraph.server.runners import InThreads, Runner
from omnigraph.server.serving.graphs import Serving
from omnigraph.wire.http.errors import INTERNAL_TEXT, answer_to, error_output_json, refusal_json

logger = logging.getLogger("omnigraph.server")

CLIENT_GONE: Final = 499
"""The status that the log shows for a client that went away; nothing is sent."""


class ServerApp:
    """The application. ``serving`` may be replaced while requests run; a request keeps the one it began with."""

    def __init__(
        self,
        routes: Sequence[Route],
        serving: Serving,
        *,
        admission: Admission | None = None,
        runner: Runner | None = None,
        ids: IdSource | None = None,
        mounts: Mapping[str, ASGIApp] | None = None,
    ) -> None:
        self.serving = serving
        self.runner = runner or InThreads()
        self._table = PathTable((route.operation.method, route.operation.path, route) for route in routes)
        self._passage = Passage(admission or Admission(), self.runner, Transport())
        self._ids = ids or UlidSource()
        self._mounts = mounts or {}
        self._running: set[threading.Event] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        path = scope["raw_path"].decode("latin-1")
        mounted = self._mounts.get(path[1:].partition("/")[0])
        if mounted is not None:
            await mounted(scope, receive, send)
        else:
            await self._serve(Request(scope, receive), path, send)

    def cancel_all(self) -> None:
        """Cancel the reads that run, at the end of the grace period of a stop."""
        for cancel in list(self._running):
            cancel.set()

    async def _serve(self, request: Request, path: str, send: Send) -> None:
        call_id, cancel = self._ids.new_id(), threading.Event()
        started = time.perf_counter()
        match: Match[Route] | None = None
        self._running.add(cancel)
        try:
            try:
                match = self._table.match(request.method, path)
                reply = await self._passage.reply(request, match, self.serving, call_id, cancel)
            except Exception as error:
                reply = _answer(error, call_id)
            if reply.status != CLIENT_GONE:
                without_body = request.method == "HEAD"
                await send_reply(reply, request.receive, send, self.runner, cancel, without_body=without_body)
        except BrokenStream as error:
            logger.error("request %s: %s; the connection is closed", call_id, error)
            raise
        finally:
            self._running.discard(cancel)
        _log(request, match, reply.status, call_id, started)


def _answer(error: Exception, call_id: str) -> Reply:
    """The answer to an error."""
    match error:
        case Rejection():
            media_type = PLAIN_TEXT if error.text else None
            return Reply(error.status, error.text.encode(), media_type, error.headers)
        case Refusal():
            return json_reply(error.body, error.status, error.headers)
        case ClientDisconnect():
            return Reply(CLIENT_GONE)
        case OmnigraphError():
            answer = answer_to(error)
            if answer.is_internal:
                logger.error("request %s failed: %s: %s", call_id, error.code, error.message, exc_info=error)
            return json_reply(error_output_json(error, call_id), answer.status)
        case _:
            logger.error("request %s failed: %s", call_id, type(error).__name__, exc_info=error)
            body = refusal_json(INTERNAL_TEXT, "internal", "internal")
            body["problem"]["request_id"] = call_id
            return json_reply(body, 500)


def _log(request: Request, match: Match[Route] | None, status: int, call_id: str, started: float) -> None:
    facts = {
        "request": call_id,
        "method": request.method,
        # The template, not the path: names of branches and entities are data.
        "route": None if match is None else match.row.operation.path,
        "graph": None if match is None else match.parameters.get("graph_id"),
        "status": status,
        "ms": round((time.perf_counter() - started) * 1000, 1),
    }
    text = " ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
    logger.info("%s", text, extra={"facts": facts})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
