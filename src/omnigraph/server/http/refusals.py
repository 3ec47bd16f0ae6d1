"""Answers to requests that never reach a handler, in the two forms that clients of Omnigraph 0.10 know.

A ``Rejection`` is plain text, or nothing at all: the request could not be taken apart. A ``Refusal`` has the envelope
of errors. Which route uses which form is a fact about 0.10 and stands in the route table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from omnigraph.wire.http.errors import refusal_json

PLAIN_TEXT: Final = "text/plain; charset=utf-8"


class Rejection(Exception):
    """A request that could not be taken apart; an empty text is an empty body."""

    def __init__(self, status: int, text: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = dict(headers or {})


class Refusal(Exception):
    """A request that is refused before its work begins. ``problem`` is our stable code."""

    def __init__(
        self,
        status: int,
        text: str,
        code: str | None,
        problem: str,
        *,
        retryable: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.headers = dict(headers or {})
        self.body = refusal_json(text, code, problem, retryable=retryable)


def bad_request(text: str, problem: str = "bad_request") -> Refusal:
    """A request whose parts are wrong, in the envelope."""
    return Refusal(400, text, "bad_request", problem)


def not_found(text: str) -> Refusal:
    """Something that does not exist, or that the caller may not know about."""
    return Refusal(404, text, "not_found", "not_found")


def too_large() -> Rejection:
    """A body over its limit."""
    return Rejection(413, "Failed to buffer the request body: length limit exceeded")


def enveloped(rejection: Rejection) -> Refusal:
    """A rejection in the envelope, for routes that use it for everything. A wrong shape is a bad request there."""
    status = 400 if rejection.status == 422 else rejection.status
    return Refusal(status, rejection.text, "bad_request", "bad_request")
