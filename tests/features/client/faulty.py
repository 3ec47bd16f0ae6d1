"""A proxy on loopback between a client and a server that misbehaves as a test tells it to."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWERED = "answered"
"""The request is passed on, and its answer is passed back."""
LOST = "lost"
"""The request is passed on; the connection ends without its answer."""
CUT = "cut"
"""The request is passed on; the connection ends in the middle of its answer."""
BUSY = "busy"
"""The request is refused with status 429 and is not passed on."""
GATEWAY = "gateway"
"""A gateway answers 502, after the request was passed on."""


class Proxy:
    """A proxy that runs. ``faults`` are used up one a request; afterwards everything is answered."""

    def __init__(self, port: int, uri: str) -> None:
        self.port = port
        self.uri = uri
        self.faults: list[str] = []
        self.requests: list[tuple[str, str]] = []
        self.keys: list[str | None] = []


@contextmanager
def proxy(target: int, path: str) -> Iterator[Proxy]:
    """Run a proxy in front of a port of this machine until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            running.requests.append((self.command, self.path))
            running.keys.append(self.headers.get("idempotency-key"))
            fault = running.faults.pop(0) if running.faults else ANSWERED
            if fault == BUSY:
                self._reply(429, [("retry-after", "7")], b"busy")
                return
            upstream = http.client.HTTPConnection("127.0.0.1", target)
            try:
                upstream.request(self.command, self.path, body, dict(self.headers.items()))
                answer = upstream.getresponse()
                content = answer.read()
            finally:
                upstream.close()
            if fault == GATEWAY:
                self._reply(502, [], b"bad gateway")
            elif fault == CUT:
                self._reply(answer.status, answer.getheaders(), content[: len(content) // 2], len(content))
            elif fault == ANSWERED:
                self._reply(answer.status, answer.getheaders(), content)

        do_GET = do_POST = do_DELETE = _handle  # noqa: N815 - names of the library

        def _reply(self, status: int, headers: list[tuple[str, str]], body: bytes, length: int | None = None) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Write nothing to the output of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = Proxy(server.server_port, f"http://127.0.0.1:{server.server_port}{path}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
