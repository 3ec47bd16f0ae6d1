"""Jobs of a server: work that takes longer than a request, awaited by asking for its state."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from omnigraph.client.errors import error_of, outcome_unknown
from omnigraph.client.transport import Request, Transport
from omnigraph.errors import NotFoundError

POLL_SECONDS: Final = 0.05
POLL_SECONDS_MAX: Final = 2.0
_ENDED: Final = ("succeeded", "failed")


def awaited(
    transport: Transport,
    job: Mapping[str, Any],
    request: Request,
    progress: Callable[[int], None] | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> dict[str, Any]:
    """The result of a job, when it has ended; raises its error. ``request`` is the one that began it."""
    wait = POLL_SECONDS
    while job["state"] not in _ENDED:
        sleep(wait)
        wait = min(2 * wait, POLL_SECONDS_MAX)
        try:
            job = transport.form(Request("GET", f"/jobs/{job['id']}"))
        except NotFoundError as error:
            # Jobs end with their server; a write that it had committed is found again by its key.
            raise outcome_unknown(request.change or "the job was done", request.key, error.message) from error
        if progress is not None:
            progress(job["progress"]["done"])
    if job["state"] == "failed":
        raise error_of(job["error"] or {"error": "the job failed"}, 500)
    result: dict[str, Any] = job["result"]
    return result
