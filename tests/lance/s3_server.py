"""An S3 server on the loopback interface that remembers every request it was sent.

Runs as a program of its own, because Lance talks to it from native threads of the process under
test. It owns the counting, nothing else: what S3 means is moto's business.

The first line on standard output is the port. The log is read at `/-/requests` and emptied by
reading it. The server ends when its standard input closes, so it cannot outlive whoever started it.
"""

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

LOG_PATH = "/-/requests"

StartResponse = Callable[..., Any]
Environ = dict[str, Any]


class RecordingApplication:
    """A WSGI application that notes method, path, query and status before it passes a request on."""

    def __init__(self, inner: Callable[[Environ, StartResponse], Iterable[bytes]]) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._requests: list[dict[str, str]] = []

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == LOG_PATH:
            with self._lock:
                body = json.dumps(self._requests).encode()
                self._requests.clear()
            start_response("200 OK", [("Content-Type", "application/json")])
            return [body]

        def note_status(status: str, *rest: Any) -> Any:
            entry = {
                "method": environ["REQUEST_METHOD"],
                "path": environ["PATH_INFO"],
                "query": environ["QUERY_STRING"],
                "if_none_match": environ.get("HTTP_IF_NONE_MATCH", ""),
                "status": status.split(" ", maxsplit=1)[0],
            }
            with self._lock:
                self._requests.append(entry)
            return start_response(status, *rest)

        return self._inner(environ, note_status)


class KeepAliveHandler(WSGIRequestHandler):
    """HTTP/1.1, so that a client's pooled connections stay open as they do against real S3."""

    protocol_version = "HTTP/1.1"


def serve() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = RecordingApplication(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=KeepAliveHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    serve()
