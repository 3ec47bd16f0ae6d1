"""Boot: from a source of graphs to a server that runs, and its reload while it does."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from starlette.types import ASGIApp

from omnigraph.errors import OmnigraphError, UsageError
from omnigraph.server.access.admission import Admission
from omnigraph.server.agents import AgentTools
from omnigraph.server.app import ServerApp
from omnigraph.server.page import PREFIX, Page, check_loopback
from omnigraph.server.readers.memory import reader_memory
from omnigraph.server.readers.runner import InProcesses
from omnigraph.server.routes.table import ROUTES
from omnigraph.server.run import bound, serve_app
from omnigraph.server.runners import InThreads, Runner
from omnigraph.server.serving.graphs import Serving

logger = logging.getLogger("omnigraph.server")

BIND_VARIABLE: Final = "OMNIGRAPH_BIND"
CLUSTER_VARIABLE: Final = "OMNIGRAPH_CLUSTER"
UNAUTHENTICATED_VARIABLE: Final = "OMNIGRAPH_UNAUTHENTICATED"
REQUIRE_ALL_VARIABLE: Final = "OMNIGRAPH_REQUIRE_ALL_GRAPHS"
DEFAULT_BIND: Final = "127.0.0.1:8080"
WATCH_SECONDS: Final = 2.0
"""Time between two looks at a source that is watched."""
READERS_MAX: Final = 8
"""Readers that a server starts on its own; each takes about 225 MB, most of it the libraries."""


class Source(Protocol):
    """Source of the graphs, policies, stored queries and tokens of a server."""

    def load(self, before: Serving | None = None) -> Serving:
        """Read everything that is to be served now; raises an error of the tree."""
        ...


def is_set(value: str | None) -> bool:
    """True for a flag of the environment that is set: not empty, ``0`` or ``false``."""
    return (value or "").strip().lower() not in ("", "0", "false")


def parse_bind(text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``; raises UsageError."""
    host, colon, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"{text!r} is no address to listen on", hint=f"write HOST:PORT, such as {DEFAULT_BIND}")
    return host, int(port)


class WatchedSource(Source, Protocol):
    """A source that can say cheaply whether it has changed."""

    def fingerprint(self) -> str:
        """Identifies what ``load`` would read; raises an error of the tree."""
        ...


@dataclass(slots=True)
class Watch:
    """Reloads a server when its source has changed. A source that cannot be read leaves everything as it is."""

    source: WatchedSource
    seen: str

    @classmethod
    def start(cls, source: WatchedSource) -> Watch:
        """Take the fingerprint before the source is loaded: a change in between is then loaded twice, not missed."""
        return cls(source, source.fingerprint())

    def look(self, app: ServerApp) -> bool:
        """Reload if the source has changed; True if it has."""
        try:
            found = self.source.fingerprint()
        except OmnigraphError as error:
            logger.error("the source could not be watched: %s", error.message)
            return False
        if found == self.seen:
            return False
        self.seen = found
        reload(app, self.source)
        return True

    def follow(self, app: ServerApp, stopped: threading.Event) -> None:
        """Look again and again, until the server stops."""
        while not stopped.wait(WATCH_SECONDS):
            self.look(app)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a server that do not depend on what it serves."""

    bind: str = DEFAULT_BIND
    metrics_bind: str | None = None
    """Address of the metrics, without tokens; None serves them on the address of the server alone."""
    readers: int | None = None
    """Reader processes; None is the default of this machine."""
    agents: AgentTools | None = None
    """Tools for agents below every graph."""
    has_page: bool = True
    """Serve the page below ``/ui/``."""
    is_local: bool = False
    """Refuse requests that do not name loopback as their host."""


def default_readers(cores: int) -> int:
    """Readers for a number of cores: one core is for the front, and below three a second process only costs memory."""
    return 0 if cores < 3 else min(cores - 1, READERS_MAX)


def runner_of(options: Options) -> Runner:
    """The runner for the reads of a server."""
    readers = default_readers(len(os.sched_getaffinity(0))) if options.readers is None else options.readers
    return InProcesses(readers, memory_max=reader_memory()) if readers else InThreads()


def app_of(serving: Serving, options: Options) -> ServerApp:
    """The application with the page beside the API."""
    guard = check_loopback if options.is_local else None
    mounts: dict[str, ASGIApp] = {}
    app = ServerApp(
        ROUTES,
        serving,
        admission=Admission.from_environment(),
        runner=runner_of(options),
        mounts=mounts,
        agents=options.agents,
        guard=guard,
    )
    if options.has_page:
        # The page asks the application for its graphs, because a reload replaces them.
        page = Page(lambda: app.serving, guard)
        mounts.update({"": page, PREFIX: page})
    return app


def run(
    source: Source,
    options: Options,
    listening: Callable[[str, Serving], None],
    watched: WatchedSource | None = None,
) -> None:
    """Serve until a signal stops the process; ``listening`` is called with the address once it is bound.

    With ``watched``, the same source, the server also reloads by itself.
    """
    host, port = parse_bind(options.bind)
    metrics_at = None if options.metrics_bind is None else parse_bind(options.metrics_bind)
    watch = None if watched is None else Watch.start(watched)
    serving = source.load()
    app = app_of(serving, options)
    if metrics_at is not None:
        logger.warning("metrics on http://%s:%d/metrics", metrics_at[0], app.metrics.serve(*metrics_at))
    listener = bound(host, port)
    shown, number, *_ = listener.getsockname()
    listening(f"[{shown}]:{number}" if ":" in shown else f"{shown}:{number}", serving)
    stopped = threading.Event()
    if watch is not None:
        threading.Thread(target=watch.follow, args=(app, stopped), name="omnigraph-watch", daemon=True).start()
    try:
        serve_app(app, listener, lambda: threading.Thread(target=reload, args=(app, source), daemon=True).start())
    finally:
        stopped.set()


_RELOADING: Final = threading.Lock()
"""Reloads one after the other: a slow one must not replace what a later one has read."""


def reload(app: ServerApp, source: Source) -> None:
    """Build a new serving state beside the old one, and replace it whole; the old one stays if that fails."""
    with _RELOADING:
        try:
            serving = source.load(app.serving)
            if serving.authenticator.is_open != app.serving.authenticator.is_open:
                raise UsageError(
                    "a reload does not open a server that asks for tokens, nor the reverse", hint="restart it"
                )
        except OmnigraphError as error:
            logger.error("nothing was reloaded: %s", error.message)
            return
        app.serving = serving
        logger.warning("reloaded: %d graphs", len(serving.graphs))
