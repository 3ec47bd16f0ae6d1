"""Telemetry of a graph: one log record per verb, and a span where the application traces.

The library is quiet unless the logger ``omnigraph`` is given a handler. Spans appear where the application has set a
tracer provider of OpenTelemetry; a program that has not pays nothing and needs nothing installed.
"""

from __future__ import annotations

import functools
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, Protocol, TypeVar

logger = logging.getLogger("omnigraph")
logger.addHandler(logging.NullHandler())

P = ParamSpec("P")
R = TypeVar("R")


class Located(Protocol):
    """An object with an address."""

    @property
    def uri(self) -> str: ...


G = TypeVar("G", bound=Located)


def is_tracing() -> bool:
    """True if the application has set a tracer provider.

    That OpenTelemetry is loaded says nothing: libraries such as that of MCP import its API, and a span without a
    recorder costs as much as a point read.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return False
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider)


@contextmanager
def span(verb: str, /, **attributes: object) -> Iterator[None]:
    """A piece of work: a span where the application traces, and a log record with its time when it ends."""
    known = {key: value for key, value in attributes.items() if value is not None}
    started = time.perf_counter()
    outcome = "done"
    try:
        with _open_telemetry(verb, known):
            yield
    except BaseException as error:
        outcome = f"failed: {type(error).__name__}"
        raise
    finally:
        facts = {"ms": round((time.perf_counter() - started) * 1000, 1), **known}
        text = " ".join(f"{key}={value}" for key, value in facts.items())
        logger.info("%s %s %s", verb, outcome, text, extra={"facts": {"verb": verb, "outcome": outcome, **facts}})


@contextmanager
def _open_telemetry(verb: str, attributes: dict[str, object]) -> Iterator[None]:
    if not is_tracing():
        yield
        return
    trace = sys.modules["opentelemetry.trace"]
    named = {
        f"omnigraph.{key}": value if isinstance(value, int | float) else str(value) for key, value in attributes.items()
    }
    with trace.get_tracer("omnigraph").start_as_current_span(f"omnigraph.{verb}", attributes=named):
        yield


def logged(verb: str) -> Callable[[Callable[Concatenate[G, P], R]], Callable[Concatenate[G, P], R]]:
    """Log each call of a graph's method and trace it as a span: graph, branch, actor, duration, outcome."""

    def decorate(method: Callable[Concatenate[G, P], R]) -> Callable[Concatenate[G, P], R]:
        @functools.wraps(method)
        def run(self: G, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if not logger.isEnabledFor(logging.INFO) and not is_tracing():
                return method(self, *args, **kwargs)
            facts: dict[str, object] = {key: kwargs[key] for key in ("branch", "name", "actor") if key in kwargs}
            with span(verb, graph=self.uri, **facts):
                return method(self, *args, **kwargs)

        return run

    return decorate
