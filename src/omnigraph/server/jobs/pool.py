"""The jobs of a server: a bounded queue, a few threads, and a bounded memory of what was done.

Jobs live in the front process and end with it. A write that was acknowledged is a commit, so nothing is lost with them:
a client that sends a load again with its idempotency key gets the commit that the first one made.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from omnigraph.core.ports import Clock, IdSource, SystemClock, UlidSource
from omnigraph.errors import OmnigraphError
from omnigraph.server.http.refusals import Refusal
from omnigraph.server.jobs.job import Job, JobFacts, JobState
from omnigraph.wire.http.errors import INTERNAL_TEXT, answer_to, error_output_json, refusal_json

logger = logging.getLogger("omnigraph.server.jobs")

THREADS: Final = 2
"""Jobs that run at the same time: a load or a compaction uses every core it gets."""
OPEN_PER_ACTOR_MAX: Final = 16
"""Jobs of one actor that wait or run."""
KEPT_MAX: Final = 1_000
"""Jobs that are remembered; of those that have ended, the oldest are forgotten first."""
RETRY_SECONDS: Final = 60

Progress = Callable[..., None]
Work = Callable[[Progress], dict[str, Any]]


class Jobs:
    """The jobs of all graphs. Threads are started with the first job, and do not keep the process alive."""

    def __init__(self, clock: Clock | None = None, ids: IdSource | None = None, threads: int = THREADS) -> None:
        self._clock = clock or SystemClock()
        self._ids = ids or UlidSource(self._clock)
        self._threads = threads
        self._started = 0
        self._waiting: queue.SimpleQueue[tuple[Job, Work]] = queue.SimpleQueue()
        self._known: OrderedDict[str, Job] = OrderedDict()
        self._keys: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def submit(
        self, graph_id: str, kind: str, unit: str, actor_id: str | None, work: Work, key: str | None = None
    ) -> JobFacts:
        """Queue work; or find the job that was submitted under the same key before, unless that has failed.

        Raises Refusal 409 for the key of other work, and 429 for an actor with too many open jobs.
        """
        with self._lock:
            earlier = self._earlier(graph_id, kind, key)
            if earlier is not None:
                return earlier
            self._require_room(actor_id)
            facts = JobFacts(self._ids.new_id(), graph_id, kind, unit, actor_id, self._clock.now_us())
            job = Job(facts)
            self._known[facts.id] = job
            if key is not None:
                self._keys[graph_id, key] = facts.id
            self._forget()
            self._start_thread()
        self._waiting.put((job, work))
        return facts

    def find(self, graph_id: str, job_id: str) -> JobFacts | None:
        """A job of a graph; None if there is none of that id."""
        with self._lock:
            job = self._known.get(job_id)
        facts = None if job is None else job.facts
        return facts if facts is not None and facts.graph_id == graph_id else None

    def listed(self, graph_id: str) -> list[JobFacts]:
        """The jobs of a graph, newest first."""
        with self._lock:
            known = [job.facts for job in self._known.values()]
        return [facts for facts in reversed(known) if facts.graph_id == graph_id]

    def _earlier(self, graph_id: str, kind: str, key: str | None) -> JobFacts | None:
        known = None if key is None else self._known.get(self._keys.get((graph_id, key), ""))
        if known is None or known.facts.state is JobState.FAILED:
            return None
        if known.facts.kind != kind:
            text = f"the Idempotency-Key was used for a job of the kind '{known.facts.kind}'"
            raise Refusal(409, text, "conflict", "conflict")
        return known.facts

    def _require_room(self, actor_id: str | None) -> None:
        open_jobs = [job.facts for job in self._known.values() if not job.facts.state.is_final]
        if sum(facts.actor_id == actor_id for facts in open_jobs) >= OPEN_PER_ACTOR_MAX:
            raise Refusal(
                429,
                f"{OPEN_PER_ACTOR_MAX} jobs of the actor wait or run, which is the limit",
                "too_many_requests",
                "too_many_requests",
                retryable=True,
                headers={"retry-after": str(RETRY_SECONDS)},
            )

    def _forget(self) -> None:
        ended = [job_id for job_id, job in self._known.items() if job.facts.state.is_final]
        for job_id in ended[: max(0, len(self._known) - KEPT_MAX)]:
            del self._known[job_id]
        self._keys = {name: job_id for name, job_id in self._keys.items() if job_id in self._known}

    def _start_thread(self) -> None:
        if self._started < self._threads:
            self._started += 1
            threading.Thread(target=self._run, name=f"omnigraph-job-{self._started}", daemon=True).start()

    def _run(self) -> None:
        while True:
            job, work = self._waiting.get()
            job.update(state=JobState.RUNNING, started_us=self._clock.now_us())
            try:
                result = work(job.progress)
            except Exception as error:
                job.update(state=JobState.FAILED, error=_error(error, job.facts.id), finished_us=self._clock.now_us())
            else:
                job.update(state=JobState.SUCCEEDED, result=result, finished_us=self._clock.now_us())
            # The queue's next item may come much later, and the work may hold an upload.
            del job, work


def _error(error: Exception, job_id: str) -> dict[str, Any]:
    """The body of an error, as the answer to a request would have it."""
    if isinstance(error, OmnigraphError):
        if answer_to(error).is_internal:
            logger.error("job %s failed: %s: %s", job_id, error.code, error.message, exc_info=error)
        return error_output_json(error, job_id)
    logger.error("job %s failed: %s", job_id, type(error).__name__, exc_info=error)
    body = refusal_json(INTERNAL_TEXT, "internal", "internal")
    body["problem"]["request_id"] = job_id
    return body
