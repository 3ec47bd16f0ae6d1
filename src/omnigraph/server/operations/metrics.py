"""Metrics for Prometheus. Labels are closed sets (route, status, graph id), never actors, branches or paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, start_http_server
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from omnigraph.errors import UsageError

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
UNKNOWN: Final = "unknown"
"""The route of a path that no row of the table has."""
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._server: WSGIServer | None = None
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "omnigraph_http_requests",
            "Requests that were answered.",
            ("route", "status", "graph"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "omnigraph_http_request_seconds",
            "Time until an answer was sent whole.",
            ("route",),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._running = 0
        self.watch("omnigraph_http_requests_running", "Requests that run.", lambda: self._running)
        self._known: dict[tuple[str, str | None, int, str | None], tuple[Counter, Histogram]] = {}
        """Children of the metrics by their labels, which are closed sets. Looking one up costs more than using it."""
        self._reader_ends = Counter(
            "omnigraph_reader_ends", "Reader processes that ended, by reason.", ("reason",), registry=self._registry
        )

    def watch(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is computed when it is read."""
        Gauge(name, text, registry=self._registry).set_function(value)

    def began(self) -> None:
        self._running += 1

    def ended(self, method: str, path: str | None, status: int, graph: str | None, seconds: float) -> None:
        """Count a request: ``path`` is that of its row, and ``graph`` the id of a graph that is served."""
        self._running -= 1
        key = (method, path, status, graph) if path is not None else ("", None, status, graph)
        known = self._known.get(key)
        if known is None:
            route = UNKNOWN if path is None else f"{method} {path}"
            known = self._requests.labels(route, str(status), graph or ""), self._seconds.labels(route)
            self._known[key] = known
        known[0].inc()
        known[1].observe(seconds)

    def reader_ended(self, reason: str) -> None:
        self._reader_ends.labels(reason).inc()

    def text(self) -> bytes:
        """All metrics in the format of Prometheus."""
        return generate_latest(self._registry)

    def serve(self, host: str, port: int) -> int:
        """Serve the metrics, and nothing else, on a port of their own; returns the port. Raises UsageError."""
        try:
            self._server, _ = start_http_server(port, host, self._registry)
        except OSError as error:
            raise UsageError(
                f"cannot serve metrics on {host}:{port}: {error.strerror or error}", hint="choose another port, or 0"
            ) from error
        return int(self._server.server_port)

    def close(self) -> None:
        """Stop serving the metrics."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
