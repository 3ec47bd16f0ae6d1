"""An embedding service on the loopback interface that returns scripted answers and records its requests."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """One answer; with ``silent`` none is given, with ``drops`` the body comes byte by byte."""

    body: object = None
    status: int = 200
    silent: bool = False
    drops: bool = False
    headers: dict[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Service:
    """Gives its answers in order, the last one for ever."""

    answers: list[Answer]
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def next(self) -> Answer:
        return self.answers[min(len(self.requests), len(self.answers)) - 1]


def openai_answer(*vectors: list[float]) -> dict[str, object]:
    return {"data": [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]}


def gemini_answer(vector: list[float]) -> dict[str, object]:
    return {"embedding": {"values": vector}}


@contextmanager
def serving(*answers: Answer) -> Iterator[Service]:
    service = Service(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            service.requests.append(
                Request(self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(body))
            )
            answer = service.next()
            self.close_connection = True
            if answer.silent:
                service.over.wait(10)
                return
            content = answer.content()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            for part in [content[at : at + 1] for at in range(len(content))] if answer.drops else [content]:
                if service.over.is_set():
                    return
                try:
                    self.wfile.write(part)
                    self.wfile.flush()
                except OSError:
                    return
                if answer.drops:
                    service.over.wait(0.02)

        def do_GET(self) -> None:
            service.requests.append(Request(self.path, self._lowered(), None))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _lowered(self) -> dict[str, str]:
            return {name.lower(): value for name, value in self.headers.items()}

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
