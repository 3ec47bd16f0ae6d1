"""Retry loops in the calling thread: ``graph.retry`` and the decorator ``omnigraph.retrying``."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar, overload

from omnigraph.core.calls.retries import ATTEMPTS, WAIT_SECONDS, WAIT_SECONDS_MAX, ErrorTypes, Retries
from omnigraph.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")
Sleep = Callable[[float], object]


def repeat(call: Callable[[], R], retries: Retries, sleep: Sleep | None = None) -> R:
    """Call until it succeeds, fails with an error that no retry can help, or has used up its attempts."""
    attempt = 1
    while True:
        try:
            return call()
        except Exception as error:
            wait = retries.wait_after(attempt, error)
            if wait is None:
                raise
        (sleep or time.sleep)(wait)
        attempt += 1


def refuse_coroutines(function: Callable[..., object], verb: str) -> None:
    """Raise UsageError for an async function, whose call would return before it has done anything."""
    if inspect.iscoroutinefunction(function):
        raise UsageError(
            f"{verb} takes a plain function, and {function.__qualname__} is async",
            hint=f"use {verb} of omnigraph.aio",
        )


@overload
def retrying(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def retrying(
    *,
    attempts: int = ATTEMPTS,
    on: ErrorTypes = (),
    wait: float = WAIT_SECONDS,
    wait_max: float = WAIT_SECONDS_MAX,
    sleep: Sleep | None = None,
    random: Callable[[], float] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def retrying(
    function: Callable[P, R] | None = None,
    /,
    *,
    attempts: int = ATTEMPTS,
    on: ErrorTypes = (),
    wait: float = WAIT_SECONDS,
    wait_max: float = WAIT_SECONDS_MAX,
    sleep: Sleep | None = None,
    random: Callable[[], float] | None = None,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that is called again when it fails with a retryable error, such as a lost write race.

    ``@retrying`` and ``@retrying(attempts=10)`` both work. The options are those of ``graph.retry``.
    """
    retries = Retries(attempts, wait, wait_max, on, random)

    def decorate(decorated: Callable[P, R]) -> Callable[P, R]:
        refuse_coroutines(decorated, "retrying")

        @functools.wraps(decorated)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            return repeat(lambda: decorated(*args, **kwargs), retries, sleep)

        return run

    return decorate if function is None else decorate(function)
