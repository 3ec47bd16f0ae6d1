"""Spans of requests where the application has loaded OpenTelemetry; a server that has not pays nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

Describe = Callable[[Mapping[str, str | int]], None]


@contextmanager
def request_span(headers: Mapping[str, str]) -> Iterator[Describe]:
    """A span around one request, below that of the caller if its headers name one. The value adds attributes to it."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield _nothing
        return
    from opentelemetry import propagate

    tracer = trace.get_tracer("omnigraph")
    parent = propagate.extract(headers)
    with tracer.start_as_current_span("omnigraph.http", context=parent, kind=trace.SpanKind.SERVER) as span:
        yield span.set_attributes


def _nothing(attributes: Mapping[str, str | int]) -> None:
    pass
