"""A reverse proxy in front of an S3 server: counts requests and makes some of them go wrong.

Runs in threads of the test process, so a test reads counts and sets faults directly. Bodies are held in memory. The
address of the proxy is nowhere in the data, so any number of proxies can serve one store: each program under test gets
its own, and what others do at the same time is not counted for it.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from socketserver import TCPServer
from typing import Any, assert_never

from tests.support.faults.fault import DelayAt, DropAt, KillAt, RequestFault, RespondAt
from tests.support.faults.request_log import Log, Request, classify
from tests.support.faults.window import ARM_PATH, DISARM_PATH

_POLL_S = 0.02
_UPSTREAM_TIMEOUT_S = 60
# Less than a client waits before it sends a request again.
_ROUND_TIMEOUT_S = 20
_BODILESS = frozenset({204, 304})
# Headers about one connection, which end here; lengths are computed anew.
_HOP_HEADERS = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "expect", "te", "trailer", "upgrade"}
)
_ERROR_CODES = {500: "InternalError", 503: "SlowDown"}

Headers = list[tuple[str, str]]
Answer = tuple[int, Headers, bytes]


class Injection:
    """A fault in force. Requests are counted from its beginning; `hit` is the first one that went wrong."""

    def __init__(self, fault: RequestFault | None, kill: Callable[[], None]) -> None:
        self.fault = fault
        self.kill = kill
        self.seen = 0
        self.hit: Request | None = None
        # The program is dead: nothing that still arrives from it may reach the store.
        self.fatal = False


class Waves:
    """The longest chain of requests that each began after the one before it was answered.

    Every request takes some time, so that those made in parallel overlap.
    """

    def __init__(self, latency_s: float) -> None:
        self.count = 0
        self._latency_s = latency_s
        self._answered = 0
        self._lock = threading.Lock()

    @contextmanager
    def request(self) -> Iterator[None]:
        with self._lock:
            number = self._answered + 1
            self.count = max(self.count, number)
        time.sleep(self._latency_s)
        yield
        with self._lock:
            self._answered = max(self._answered, number)


class Rounds:
    """Answers requests in rounds: none of a round before all of it have arrived.

    So a client that sends the requests of a round one after the other waits in vain, however fast it is. `missed` says
    that this happened, or that a request of a round came before the round before it was answered. `arrived` is how many
    requests there were; those after the last round are answered at once.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.arrived = 0
        self.missed = False
        self._answered = 0
        self._ends = list(accumulate(sizes))
        self._changed = threading.Condition()

    def wait(self) -> None:
        with self._changed:
            self.arrived += 1
            end = next((end for end in self._ends if self.arrived <= end), 0)
            before = max((end for end in self._ends if self.arrived > end), default=0)
            self.missed = self.missed or self._answered < before
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self.missed or self.arrived >= end, _ROUND_TIMEOUT_S):
                self.missed = True
                self._changed.notify_all()

    def note_answer(self) -> None:
        with self._changed:
            self._answered += 1


class Proxy:
    """One listening port. `serial` lets requests through one at a time, so that "before the n-th" is exact."""

    def __init__(self, upstream: tuple[str, int], *, serial: bool = False, armed: bool = True) -> None:
        self.log = Log()
        self.ever_armed = armed
        self._armed = armed
        self._upstream = upstream
        self._turn = threading.Lock() if serial else nullcontext()
        self._lock = threading.Lock()
        self._recordings: list[Log] = []
        self._injection: Injection | None = None
        self._waves: Waves | None = None
        self._rounds: Rounds | None = None
        self._numbered = 0
        self._preconditions = True
        self._closed = False
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name="s3-proxy", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def endpoint(self) -> str:
        return f"http://{self.address}"

    def requests(self) -> tuple[Request, ...]:
        return self.log.requests()

    def counts(self) -> dict[str, int]:
        return self.log.counts()

    def reset(self) -> None:
        with self._lock:
            self._numbered = 0
            self.log.reset()

    @contextmanager
    def recording(self) -> Iterator[Log]:
        """A log of its own for the requests made inside the block."""
        log = Log()
        with self._lock:
            self._recordings.append(log)
        try:
            yield log
        finally:
            with self._lock:
                self._recordings.remove(log)

    @contextmanager
    def inject(self, fault: RequestFault | None, *, pid: int | None = None) -> Iterator[Injection]:
        """A fault for the requests inside the block. `KillAt` kills the process `pid`."""
        if isinstance(fault, KillAt) and pid is None:
            raise ValueError("KillAt needs the pid of the process to kill")
        with self.inject_killing(fault, lambda: os.kill(pid or 0, signal.SIGKILL)) as injection:
            yield injection

    @contextmanager
    def inject_killing(self, fault: RequestFault | None, kill: Callable[[], None]) -> Iterator[Injection]:
        """Like `inject`, for those who know better than by a pid how to kill the program."""
        injection = Injection(fault, kill)
        with self._lock:
            if self._injection is not None:
                raise ValueError("one fault at a time")
            self._injection = injection
        try:
            yield injection
        finally:
            with self._lock:
                self._injection = None

    @contextmanager
    def waves(self, latency_s: float = 0.05) -> Iterator[Waves]:
        """Every request inside the block takes a while longer; counts how often they wait for each other."""
        self._waves = waves = Waves(latency_s)
        try:
            yield waves
        finally:
            self._waves = None

    @contextmanager
    def rounds(self, sizes: Sequence[int]) -> Iterator[Rounds]:
        """Requests inside the block are answered in rounds of these sizes."""
        self._rounds = rounds = Rounds(sizes)
        try:
            yield rounds
        finally:
            self._rounds = None

    @contextmanager
    def ignoring_preconditions(self) -> Iterator[None]:
        """Behave like a store that ignores If-None-Match and If-Match: every writer wins."""
        self._preconditions = False
        try:
            yield
        finally:
            self._preconditions = True

    def set_armed(self, armed: bool) -> None:
        """Requests count, and faults strike, only while armed."""
        self._armed = armed
        self.ever_armed = self.ever_armed or armed

    def close(self) -> None:
        """Stop. Afterwards nothing that came through here is still on its way to the store."""
        self._closed = True
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server.hang_up()

    def serve(self, method: str, target: str, headers: Headers, body: bytes) -> Answer | None:
        """Answer one request, or None to drop its connection. Called by the connection threads."""
        with self._turn:
            with self._lock:
                armed, injection = self._armed, self._injection
                if self._closed or (injection is not None and injection.fatal):
                    return None
                position = 0
                if armed:
                    self._numbered += 1
                    if injection is not None:
                        injection.seen += 1
                        position = injection.seen
                request = _describe(self._numbered, method, target, headers, body)
            before, fault = self._strike(injection, position, request)
            waves, rounds = self._waves, self._rounds
            if rounds is not None:
                rounds.wait()
            with nullcontext() if waves is None else waves.request():
                answer = None if before else self._forward(method, target, headers, body)
            if rounds is not None:
                rounds.note_answer()
            if answer is not None:
                request = replace(request, status=answer[0], bytes_received=len(answer[2]))
            if armed:
                self._note(request)
            if fault is None or injection is None:
                return answer
            injection.hit = injection.hit or request
            return self._spoil(injection, fault)

    def _strike(
        self, injection: Injection | None, position: int, request: Request
    ) -> tuple[bool, KillAt | RespondAt | DropAt | None]:
        """True if the store must not see the request, and the fault that spoils the response."""
        if injection is None or position == 0:
            return False, None
        match injection.fault:
            case None:
                return False, None
            case DelayAt(n, seconds):
                if position == n:
                    injection.hit = request
                    time.sleep(seconds)
                return False, None
            case KillAt(n, after) as fault:
                return (not after, fault) if position == n else (False, None)
            case RespondAt(n, _, times, after) | DropAt(n, times, after) as fault:
                return (not after, fault) if n <= position < n + times else (False, None)
            case _:
                assert_never(injection.fault)

    def _spoil(self, injection: Injection, fault: KillAt | RespondAt | DropAt) -> Answer | None:
        match fault:
            case KillAt():
                injection.fatal = True
                injection.kill()
                return None
            case DropAt():
                return None
            case RespondAt(_, status):
                code = _ERROR_CODES.get(status, "InjectedFault")
                text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>injected</Message></Error>"
                return status, [("Content-Type", "application/xml")], text.encode()
        assert_never(fault)

    def _note(self, request: Request) -> None:
        self.log.add(request)
        with self._lock:
            recordings = list(self._recordings)
        for log in recordings:
            log.add(request)

    def _forward(self, method: str, target: str, headers: Headers, body: bytes) -> Answer:
        connection = HTTPConnection(*self._upstream, timeout=_UPSTREAM_TIMEOUT_S)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers:
                if name.lower() not in _HOP_HEADERS and (self._preconditions or not _is_precondition(name)):
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        except (OSError, HTTPException) as error:
            return 502, [], f"the S3 server did not answer: {error!r}".encode()
        finally:
            connection.close()


def _is_precondition(name: str) -> bool:
    return name.lower() in {"if-none-match", "if-match"}


def _describe(index: int, method: str, target: str, headers: Headers, body: bytes) -> Request:
    kind, bucket, key, query = classify(method, target)
    preconditions = [f"{name}: {value}" for name, value in headers if _is_precondition(name)]
    return Request(index, kind, method, bucket, key, query, "; ".join(preconditions) or None, bytes_sent=len(body))


class _Server(ThreadingHTTPServer):
    """Remembers its connections, so that closing ends them and waits for their threads."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self._connections: dict[socket.socket, threading.Thread | None] = {}
        self._connections_lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        # The inherited one looks up the name of the host, which can take seconds.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.socket.getsockname()[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._connections_lock:
            self._connections[request] = None
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._connections_lock:
            self._connections[request] = threading.current_thread()
        super().process_request_thread(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._connections_lock:
            self._connections.pop(request, None)

    def hang_up(self) -> None:
        """End every connection and wait until its thread is done."""
        while True:
            with self._connections_lock:
                connections = list(self._connections.items())
            if not connections:
                return
            for connection, thread in connections:
                # An error means that the other side was faster.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                if thread is not None:
                    thread.join(_POLL_S)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that was killed leaves a broken connection behind; that is what we are here for.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One kept-alive connection of a client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    server: _Server

    def _serve(self) -> None:
        body = self._body()
        if body is None:
            self.close_connection = True
            return
        if self.path in {ARM_PATH, DISARM_PATH}:
            self.server.proxy.set_armed(self.path == ARM_PATH)
            self._answer((204, [], b""))
            return
        answer = self.server.proxy.serve(self.command, self.path, self.headers.items(), body)
        if answer is None:
            self.close_connection = True
        else:
            self._answer(answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - the names http.server looks for

    def handle_expect_100(self) -> bool:
        # The client sends its body only after it has seen this, so it must not stay in our buffer.
        proceed = super().handle_expect_100()
        self.wfile.flush()
        return proceed

    def _body(self) -> bytes | None:
        """The whole body, or None if the client went away before it was complete."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length)
            return body if len(body) == length else None
        pieces = []
        while True:
            size = self.rfile.readline().partition(b";")[0].strip()
            if not size:
                return None
            piece = self.rfile.read(int(size, 16))
            end = self.rfile.readline()
            if len(piece) != int(size, 16) or not end:
                return None
            if not piece:
                break
            pieces.append(piece)
        # Trailers would stand before the empty line that was just read; S3 clients put theirs inside the body.
        return b"".join(pieces)

    def _answer(self, answer: Answer) -> None:
        status, headers, body = answer
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _HOP_HEADERS:
                self.send_header(name, value)
        if self.command == "HEAD":
            # The length of the object, not of this answer.
            lengths = [value for name, value in headers if name.lower() == "content-length"]
            self.send_header("Content-Length", lengths[0] if lengths else "0")
        elif status not in _BODILESS:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the log that matters is the proxy's."""
