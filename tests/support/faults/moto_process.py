"""A moto S3 server as a program of its own. What S3 means is moto's business; here it is only made dependable.

The first line on standard output is the port. The server ends when its standard input closes, so it cannot outlive
whoever started it, however that one ended. Run by path, not imported.
"""

import logging
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_READING = frozenset({"GET", "HEAD"})


class OneWriteAtATime:
    """Moto checks a precondition and then stores the object; between the two another thread could store it first."""

    def __init__(self, inner: Application) -> None:
        self._inner = inner
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in _READING:
            return self._inner(environ, start_response)
        with self._lock:
            return list(self._inner(environ, start_response))


class Handler(WSGIRequestHandler):
    """HTTP/1.1 without delayed acknowledgements: headers and body are sent in separate small pieces."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True


def serve() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = OneWriteAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
