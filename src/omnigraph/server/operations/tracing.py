"""Spans of requests, for a server whose process traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

Describe = Callable[[Mapping[str, str | int]], None]


@contextmanager
def request_span(headers: Mapping[str, str]) -> Iterator[Describe]:
    """A span around one request, below that of the caller if its headers name one. The value adds attributes to it."""
    from opentelemetry import propagate, trace

    tracer = trace.get_tracer("omnigraph")
    parent = propagate.extract(headers)
    with tracer.start_as_current_span("omnigraph.http", context=parent, kind=trace.SpanKind.SERVER) as span:
        yield span.set_attributes
