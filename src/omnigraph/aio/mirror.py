"""Awaited forms of blocking methods, with the same parameters: a type checker and ``help`` show those of the original.

A class that mirrors another one names each method once, so nothing is declared twice; a test compares the two.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from omnigraph.aio.threads import Threads

Subject = TypeVar("Subject")
Subject_co = TypeVar("Subject_co", covariant=True)
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Mirror(Protocol[Subject_co]):
    """An object whose methods are those of a blocking one."""

    @property
    def blocking(self) -> Subject_co: ...
    @property
    def threads(self) -> Threads: ...


def awaited(
    method: Callable[Concatenate[Subject, P], R],
) -> Callable[Concatenate[Mirror[Subject], P], Coroutine[Any, Any, R]]:
    """A method that is awaited. One with a parameter ``cancel`` is cancelled with its task."""
    is_cancellable = "cancel" in inspect.signature(method).parameters

    @functools.wraps(method)
    async def call(self: Mirror[Subject], /, *args: P.args, **kwargs: P.kwargs) -> R:
        given: dict[str, Any] = kwargs
        # A query on Spark returns a lazy frame immediately: it takes no limits, and cancelling it is the session's.
        if is_cancellable and given.get("cancel") is None and given.get("engine") != "spark":
            given["cancel"] = threading.Event()
        work = functools.partial(_bound(method, self.blocking), *args, **kwargs)
        return await self.threads.call(work, given.get("cancel"))

    return call


def _bound(method: Callable[..., Any], subject: object) -> Callable[..., Any]:
    """The method of that name of the subject: a remote graph has its own."""
    return getattr(subject, method.__name__)  # type: ignore[no-any-return] # the caller knows its type


def iterated(
    method: Callable[Concatenate[Subject, P], Iterator[T]],
) -> Callable[Concatenate[Mirror[Subject], P], AsyncIterator[T]]:
    """A method whose items are taken with ``async for``."""

    @functools.wraps(method)
    def call(self: Mirror[Subject], /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self.threads.iterate(functools.partial(_bound(method, self.blocking), *args, **kwargs))

    return call
