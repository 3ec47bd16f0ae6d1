"""Tools for agents over HTTP: ``/graphs/{graph_id}/mcp``, with tokens, policies and stored queries of the server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import Message, Send

from omnigraph.server.http.refusals import Refusal
from omnigraph.server.page import LOOPBACK
from omnigraph.server.passage import actor_of_request
from omnigraph.server.serving.graphs import Serving

if TYPE_CHECKING:
    from omnigraph.mcp.session import Settings

ROUTE: Final = "/graphs/{graph_id}/mcp"
_PATH: Final = re.compile(r"/graphs/([^/]+)/mcp")


def graph_of(path: str) -> str | None:
    """The id of the graph whose tools a path addresses; None for other paths."""
    found = _PATH.fullmatch(path)
    return None if found is None else found[1]


def check_origin(request: Request, *, has_token: bool) -> None:
    """Refuse requests that a page of another site makes in a browser; other clients send no origin.

    Without tokens, a page whose name the attacker resolves to this machine would be of the same origin.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return
    host = request.headers.get("host", "")
    if urlsplit(origin).netloc != host:
        raise Refusal(403, "requests of other origins are refused", "forbidden", "origin_refused")
    if not has_token and urlsplit(f"//{host}").hostname not in LOOPBACK:
        raise Refusal(403, f"pages of host {host[:100]!r} are refused", "forbidden", "host_refused")


def check_method(request: Request) -> None:
    """Refuse all methods but POST. The library would answer GET with a stream that never ends, to hold connections."""
    if request.method != "POST":
        text = "tools are called with POST; this server keeps no sessions and sends nothing by itself"
        raise Refusal(405, text, "bad_request", "bad_request", headers={"allow": "POST"})


@dataclass(slots=True)
class Watched:
    """Passes the answer on and remembers its status."""

    send: Send
    status: int = 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self.send(message)


@dataclass(frozen=True, slots=True)
class AgentTools:
    """The tools of every graph of a server."""

    settings: Settings
    version: str

    async def answer(self, request: Request, graph_id: str, serving: Serving, send: Send) -> int:
        """Answer a request and return the status; raises refusals before anything was sent."""
        from omnigraph.mcp.http import serve_request
        from omnigraph.mcp.stdio import new_session

        actor = await actor_of_request(request, serving)
        served = serving.find(graph_id)
        check_origin(request, has_token=actor is not None)
        check_method(request)
        session = new_session(served.acting_as(actor), self.settings, served.queries)
        watched: Any = Watched(send)
        await serve_request(session, self.version, request.scope, request.receive, watched)
        return int(watched.status)


def agent_tools(mode: str, version: str) -> AgentTools | None:
    """The tools of a mode: ``off``, ``read``, ``write`` or ``merge``. None if they are off or the extra is missing."""
    if mode == "off":
        return None
    try:
        from omnigraph.mcp.http import serve_request  # noqa: F401 # the libraries of the extra are there
        from omnigraph.mcp.session import Settings
    except ImportError:
        return None
    return AgentTools(Settings(allow_writes=mode in ("write", "merge"), allow_main=mode == "merge"), version)
