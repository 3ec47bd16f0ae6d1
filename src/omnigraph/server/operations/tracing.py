"""Spans of requests where the application has loaded OpenTelemetry; a server that has not pays nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

Describe = Callable[[Mapping[str, str | int]], None]


def is_tracing() -> bool:
    """True if the application has loaded OpenTelemetry."""
    return "opentelemetry.trace" in sys.modules


@contextmanager
def request_span(headers: Mapping[str, str]) -> Iterator[Describe]:
    """A span around one request, below that of the caller if its headers name one. The value adds attributes to it."""
    from opentelemetry import propagate, trace

    tracer = trace.get_tracer("omnigraph")
    parent = propagate.extract(headers)
    with tracer.start_as_current_span("omnigraph.http", context=parent, kind=trace.SpanKind.SERVER) as span:
        yield span.set_attributes
