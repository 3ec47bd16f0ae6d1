"""The page in the browser: its files, and what the bearer of a token sees first. All else goes through the API."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from omnigraph.core.actors import Action, Actor, Need
from omnigraph.engine.picture.scripts import WEB as DRAWING
from omnigraph.errors import PolicyDenied
from omnigraph.manifest.layout import MAIN
from omnigraph.server.http.answers import log_failure, reply_to
from omnigraph.server.http.cancelling import Cancelling
from omnigraph.server.http.refusals import Refusal, not_found
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.http.sending import send_reply
from omnigraph.server.passage import actor_of_request
from omnigraph.server.runners import InThreads
from omnigraph.server.serving.graphs import ServedGraph, Serving

PREFIX: Final = "ui"
"""First part of the paths of the page."""
SESSION: Final = "session.json"
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})

_MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
SECURITY: Final = {
    # Scripts and styles are files of this server only: text of a graph that reached the document could not run.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def check_loopback(request: Request) -> None:
    """Refuse names that are not of loopback, and pages of other origins.

    A name of the attacker that resolves to loopback would otherwise make a foreign page the same origin.
    """
    host = request.headers.get("host", "")
    if urlsplit(f"//{host}").hostname not in LOOPBACK:
        raise Refusal(403, f"host {host[:100]!r} is refused", "forbidden", "host_refused")
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        raise Refusal(403, "requests of other origins are refused", "forbidden", "origin_refused")


@dataclass(frozen=True, slots=True)
class WebFile:
    """One file of the page, as it is sent: plain, or compressed for those who accept it."""

    content: bytes
    media_type: str
    compressed: bytes

    def reply(self, accepted: str, known: str | None) -> Reply:
        """The file, or nothing if the caller has it."""
        is_plain = "gzip" not in {item.strip() for item in accepted.split(",")}
        content = self.content if is_plain else self.compressed
        # Checked each time: a name does not change with its content, and a check costs one small answer.
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers = {"etag": tag, "cache-control": "no-cache", "vary": "Accept-Encoding"}
        if known == tag:
            return Reply(304, headers=headers)
        return Reply(200, content, self.media_type, headers if is_plain else headers | {"content-encoding": "gzip"})


@cache
def web_files() -> Mapping[str, WebFile]:
    """The files of the page by path. Only these paths exist, so that none can lead out of the folders.

    The drawing belongs to the pictures of the engine, which work without a server.
    """
    found: dict[str, WebFile] = {}
    _collect(files("omnigraph.server").joinpath("web"), "", found)
    _collect(DRAWING.joinpath("drawing"), "drawing/", found)
    return found


def _collect(folder: Traversable, prefix: str, found: dict[str, WebFile]) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            _collect(entry, f"{prefix}{entry.name}/", found)
            continue
        media_type = _MEDIA_TYPES.get(entry.name[entry.name.rfind(".") :])
        if media_type is not None:
            content = entry.read_bytes()
            # Without a time the same file has the same bytes, and so the same tag, in every process.
            found[prefix + entry.name] = WebFile(content, media_type, gzip.compress(content, mtime=0))


@dataclass(frozen=True, slots=True)
class Page:
    """The application below ``/ui/``. The page has no rights: every answer but its files needs the caller's token."""

    serving: Callable[[], Serving]
    guard: Callable[[Request], None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            if self.guard is not None:
                self.guard(request)
            reply = await self._reply(request, scope["raw_path"].decode("latin-1"))
        except Exception as error:
            log_failure(error, "page")
            reply = reply_to(error, "page")
        reply = reply.with_headers(SECURITY)
        await send_reply(reply, receive, send, InThreads(), Cancelling(), without_body=request.method == "HEAD")

    async def _reply(self, request: Request, path: str) -> Reply:
        if request.method not in ("GET", "HEAD"):
            raise Refusal(405, "the page is only read", "bad_request", "bad_request", headers={"allow": "GET, HEAD"})
        if path in ("/", f"/{PREFIX}"):
            return Reply(307, headers={"location": f"/{PREFIX}/"})
        name = path.removeprefix(f"/{PREFIX}/")
        if name == SESSION:
            serving = self.serving()
            return session(serving, await actor_of_request(request, serving))
        found = web_files().get(name or "index.html")
        if found is None:
            raise not_found(f"the page has no file '{name[:100]}'")
        return found.reply(request.headers.get("accept-encoding", ""), request.headers.get("if-none-match"))


def session(serving: Serving, actor: Actor | None) -> Reply:
    """The actor of the token, the graphs whose main branch it may read, and whether it may see the server's status."""
    graphs = [name for name, served in sorted(serving.graphs.items()) if _may_read(served, actor)]
    form = {
        "actor_id": None if actor is None else actor.id,
        "graphs": graphs,
        "may_list": _is_allowed(lambda: serving.require(actor, Need(Action.GRAPH_LIST))),
    }
    return json_reply(form, headers={"cache-control": "no-store"})


def _may_read(served: ServedGraph, actor: Actor | None) -> bool:
    return _is_allowed(lambda: served.require(actor, Need(Action.READ, MAIN)))


def _is_allowed(require: Callable[[], None]) -> bool:
    try:
        require()
    except PolicyDenied:
        return False
    return True
