"""Answers to errors: those of the tree from their table, refusals as they are, and a fixed text for bugs."""

from __future__ import annotations

import logging
from typing import Final

from starlette.requests import ClientDisconnect

from omnigraph.errors import OmnigraphError
from omnigraph.server.http.refusals import PLAIN_TEXT, Refusal, Rejection
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.wire.http.errors import INTERNAL_TEXT, answer_to, error_output_json, refusal_json

logger = logging.getLogger("omnigraph.server")

CLIENT_GONE: Final = 499
"""The status that the log shows for a client that went away; nothing is sent."""


class Answered(Exception):
    """An error that another process has turned into its answer. ``failure`` is for the log, if it belongs there."""

    def __init__(self, reply: Reply, failure: str | None = None) -> None:
        super().__init__(failure or "answered")
        self.reply = reply
        self.failure = failure


def reply_to(error: Exception, call_id: str) -> Reply:
    """The answer to an error."""
    match error:
        case Answered():
            return error.reply
        case Rejection():
            media_type = PLAIN_TEXT if error.text else None
            return Reply(error.status, error.text.encode(), media_type, error.headers)
        case Refusal():
            return json_reply(error.body, error.status, error.headers)
        case ClientDisconnect():
            return Reply(CLIENT_GONE)
        case OmnigraphError():
            return json_reply(error_output_json(error, call_id), answer_to(error).status)
        case _:
            body = refusal_json(INTERNAL_TEXT, "internal", "internal")
            body["problem"]["request_id"] = call_id
            return json_reply(body, 500)


def is_failure(error: Exception) -> bool:
    """True for an error whose details belong into the log, because its answer leaves them out."""
    if isinstance(error, OmnigraphError):
        return answer_to(error).is_internal
    return not isinstance(error, Answered | Rejection | Refusal | ClientDisconnect)


def log_failure(error: Exception, call_id: str) -> None:
    """Log what the answer to an error leaves out, under the id of the request."""
    facts = {"facts": {"request": call_id}}
    if isinstance(error, Answered):
        if error.failure is not None:
            logger.error("request %s failed: %s", call_id, error.failure, extra=facts)
    elif is_failure(error):
        what = f"{error.code}: {error.message}" if isinstance(error, OmnigraphError) else type(error).__name__
        logger.error("request %s failed: %s", call_id, what, exc_info=error, extra=facts)
