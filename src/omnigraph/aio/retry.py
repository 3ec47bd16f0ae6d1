"""Retry loops in the event loop: ``AsyncGraph.retry`` and the decorator ``omnigraph.aio.retrying``."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar, overload

from omnigraph.core.calls.retries import ATTEMPTS, WAIT_SECONDS, WAIT_SECONDS_MAX, ErrorTypes, Retries
from omnigraph.core.display import with_article
from omnigraph.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")
Sleep = Callable[[float], Awaitable[object]]


async def repeat(call: Callable[[], Awaitable[R]], retries: Retries, sleep: Sleep | None = None) -> R:
    """Await until it succeeds, fails with an error that no retry can help, or has used up its attempts."""
    attempt = 1
    while True:
        try:
            return await _started(call)
        except Exception as error:
            wait = retries.wait_after(attempt, error)
            if wait is None:
                raise
        await (sleep or asyncio.sleep)(wait)
        attempt += 1


def _started(call: Callable[[], Awaitable[R]]) -> Awaitable[R]:
    started = call()
    if not isinstance(started, Awaitable):
        raise UsageError(
            f"retry of omnigraph.aio awaits the work, and its function returned {with_article(type(started).__name__)}",
            hint="pass an async function, or use graph.blocking.retry",
        )
    return started


@overload
def retrying(function: Callable[P, Awaitable[R]], /) -> Callable[P, Coroutine[Any, Any, R]]: ...


@overload
def retrying(
    *,
    attempts: int = ATTEMPTS,
    on: ErrorTypes = (),
    wait: float = WAIT_SECONDS,
    wait_max: float = WAIT_SECONDS_MAX,
    sleep: Sleep | None = None,
    random: Callable[[], float] | None = None,
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R]]]: ...


def retrying(
    function: Callable[P, Awaitable[R]] | None = None,
    /,
    *,
    attempts: int = ATTEMPTS,
    on: ErrorTypes = (),
    wait: float = WAIT_SECONDS,
    wait_max: float = WAIT_SECONDS_MAX,
    sleep: Sleep | None = None,
    random: Callable[[], float] | None = None,
) -> Callable[P, Coroutine[Any, Any, R]] | Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R]]]:
    """Decorate an async function as ``omnigraph.retrying`` does a plain one."""
    retries = Retries(attempts, wait, wait_max, on, random)

    def decorate(decorated: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        @functools.wraps(decorated)
        async def run(*args: P.args, **kwargs: P.kwargs) -> R:
            return await repeat(lambda: decorated(*args, **kwargs), retries, sleep)

        return run

    return decorate if function is None else decorate(function)
