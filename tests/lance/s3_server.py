"""An S3 server on the loopback interface that remembers every request, and misbehaves when asked to.

Runs as a program of its own, because Lance talks to it from native threads of the process under test. It owns
counting and two faults, nothing else: what S3 means is moto's business.

* The first line on standard output is the port; the server ends when its standard input closes, so it cannot
  outlive whoever started it.
* `/-/requests` answers with the log so far and empties it.
* `/-/lose-answers?<text>` arms a fault: the next PUT whose path contains the text is carried out, but answered
  with 500, as if the answer had got lost on the way.
* In buckets whose name starts with `careless`, `If-None-Match` is ignored: every create-if-absent succeeds.
"""

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

StartResponse = Callable[..., Any]
Environ = dict[str, Any]


class RecordingApplication:
    """Notes method, path, query and status of everything it passes on to S3."""

    def __init__(self, inner: Callable[[Environ, StartResponse], Iterable[bytes]]) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._requests: list[dict[str, str]] = []
        self._lose_answer_of: str | None = None

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        match environ["PATH_INFO"]:
            case "/-/requests":
                return self._answer(self._take_requests(), start_response)
            case "/-/lose-answers":
                self._lose_answer_of = environ["QUERY_STRING"]
                return self._answer([], start_response)
            case path:
                if path.startswith("/careless"):
                    environ.pop("HTTP_IF_NONE_MATCH", None)
                return self._forward(environ, start_response)

    def _answer(self, value: Any, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(value).encode()]

    def _take_requests(self) -> list[dict[str, str]]:
        with self._lock:
            taken, self._requests = self._requests, []
        return taken

    def _forward(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        def note(status: str, *rest: Any) -> Any:
            entry = {
                "method": environ["REQUEST_METHOD"],
                "path": environ["PATH_INFO"],
                "query": environ["QUERY_STRING"],
                "status": status.partition(" ")[0],
            }
            with self._lock:
                self._requests.append(entry)
                lost = self._lose_answer_of
                if entry["method"] == "PUT" and lost is not None and lost in entry["path"]:
                    self._lose_answer_of = None
                    status = "500 Internal Server Error"
            return start_response(status, *rest)

        return self._inner(environ, note)


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
