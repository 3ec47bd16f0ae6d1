"""Running an application with uvicorn: binding, signals, reload, and a stop that lets work finish."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from omnigraph.errors import UsageError
from omnigraph.server.allocator import keep_freed_memory
from omnigraph.server.app import ServerApp
from omnigraph.server.http.streams import BrokenStream

GRACE_SECONDS: Final = 30
"""Time that work has to finish when the server stops. Reads are cancelled shortly before it ends."""

CANCEL_SECONDS: Final = 2
KEEP_ALIVE_SECONDS: Final = 65
"""Idle time of a connection: longer than the 60 s of usual proxies, so that they close it and not we."""


class _Server(uvicorn.Server):
    """A server whose signals stop it gracefully, without being raised again when it has ended."""

    def __init__(self, app: ASGIApp, on_stop: Callable[[], None], on_reload: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                timeout_graceful_shutdown=GRACE_SECONDS,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )
        self._on_stop = on_stop
        self._on_reload = on_reload

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGINT: self._stop, signal.SIGTERM: self._stop, signal.SIGHUP: self._on_reload}
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        try:
            yield
        finally:
            for number in handlers:
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        asyncio.get_running_loop().call_later(GRACE_SECONDS - CANCEL_SECONDS, self._on_stop)


class _NoBrokenStreams(logging.Filter):
    """Leaves out the traceback of a stream that was broken on purpose; the application has logged the reason."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], BrokenStream)


def serve_app(app: ServerApp, listener: socket.socket, on_reload: Callable[[], None]) -> None:
    """Serve until a signal stops the process."""
    logging.getLogger("uvicorn.error").addFilter(_NoBrokenStreams())
    keep_freed_memory()

    async def run() -> None:
        await app.runner.start()
        await _Server(app, app.cancel_all, on_reload).serve([listener])
        try:
            await asyncio.wait_for(app.runner.close(), CANCEL_SECONDS)
        except TimeoutError:
            # Python would wait for its threads. Every write is atomic, so ending now loses nothing acknowledged.
            logging.getLogger("omnigraph.server").warning("work did not end in time")
            os._exit(0)

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(run())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop of libuv, which Windows does not have; a request costs less on it."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
        # Connections inherit it. asyncio sets it only for sockets that were made with the number of the protocol, and
        # without it the body of an answer waits some 40 ms for the acknowledgement of its head.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint="choose another port, or 0",
        ) from error
