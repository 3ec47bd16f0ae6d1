"""The jobs of a server: a bounded queue, a few threads, and a bounded memory of what was done.

Jobs run in the front process and end with it. Their records are in the store of their graph, so that the next server
can tell what became of them: see ``jobs.recovery``. A write that was acknowledged is a commit, so nothing is lost.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from omnigraph.core.lru import Lru
from omnigraph.core.ports import Clock, IdSource, SystemClock, UlidSource
from omnigraph.engine.graph import Graph
from omnigraph.engine.upkeep.job_records import JobRecords, job_records
from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.server.http.refusals import Refusal
from omnigraph.server.jobs.job import Job, JobFacts, JobState, Written
from omnigraph.server.jobs.owners import this_process
from omnigraph.server.jobs.recovery import SEEN_SECONDS, recovered
from omnigraph.wire.http.errors import INTERNAL_TEXT, answer_to, error_output_json, refusal_json

logger = logging.getLogger("omnigraph.server.jobs")

THREADS: Final = 2
"""Jobs that run at the same time: a load or a compaction uses every core it gets."""
OPEN_PER_ACTOR_MAX: Final = 16
"""Jobs of one actor that wait or run."""
KEPT_MAX: Final = 1_000
"""Jobs of all graphs that are remembered; of those that have ended, the oldest are forgotten first."""
RETRY_SECONDS: Final = 60

Progress = Callable[..., None]
Work = Callable[[Progress], dict[str, Any]]


class Jobs:
    """The jobs of all graphs. Threads are started with the first job, and do not keep the process alive."""

    def __init__(
        self,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        threads: int = THREADS,
        kept_max: int = KEPT_MAX,
    ) -> None:
        self._clock = clock or SystemClock()
        self._ids = ids or UlidSource(self._clock)
        self._threads = threads
        self._kept_max = kept_max
        self._started = 0
        self._waiting: queue.SimpleQueue[tuple[Job, Work]] = queue.SimpleQueue()
        self._known: OrderedDict[str, Job] = OrderedDict()
        self._records: dict[str, JobRecords] = {}
        self._recovered: Lru[str, JobFacts] = Lru(kept_max)
        """Jobs of earlier servers that have ended."""
        self._keys: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def new_id(self) -> str:
        """The id of a job that is about to be submitted."""
        return self._ids.new_id()

    def submit(
        self,
        job_id: str,
        graph: tuple[str, Graph],
        kind: str,
        unit: str,
        actor_id: str | None,
        work: Work,
        key: str | None = None,
        written: Written | None = None,
    ) -> JobFacts:
        """Queue work on a graph, given by its id and as the owner calls it.

        The job that was submitted under the same key before is returned instead, unless it has failed. The job has a
        record when this returns. Raises Refusal 409 for the key of other work, and 429 for an actor with too many open
        jobs.
        """
        graph_id, trusted = graph
        with self._lock:
            earlier = self._earlier(graph_id, kind, key)
            if earlier is not None:
                return earlier
            self._require_room(actor_id)
            now = self._clock.now_us()
            facts = JobFacts(job_id, graph_id, kind, unit, actor_id, now, this_process(), written, seen_us=now)
            job = Job(facts)
            self._known[facts.id] = job
            is_first = graph_id not in self._records
            self._records[graph_id] = job_records(trusted)
            if key is not None:
                self._keys[graph_id, key] = facts.id
            forgotten = self._forget()
        try:
            self._records[graph_id].write(facts.id, facts.to_record())
        except OmnigraphError:
            with self._lock:
                self._known.pop(facts.id, None)
            raise
        if is_first:
            forgotten.setdefault(graph_id, []).extend(self._records[graph_id].ids()[self._kept_max :])
        for name, ids in forgotten.items():
            self._records[name].delete(ids)
        with self._lock:
            self._start_thread()
        self._waiting.put((job, work))
        return facts

    def find(self, graph_id: str, trusted: Graph, job_id: str) -> JobFacts | None:
        """A job of a graph, also one of an earlier server; None if there is none of that id."""
        with self._lock:
            job = self._known.get(job_id)
        facts = self._recovered.get(job_id) if job is None else job.facts
        if facts is not None:
            return facts if facts.graph_id == graph_id else None
        found = recovered(job_id, graph_id, trusted, self._clock.now_us())
        if found is not None and found.state.is_final:
            self._recovered.put(job_id, found)
        return found

    def listed(self, graph_id: str, trusted: Graph, limit: int) -> list[JobFacts]:
        """The newest jobs of a graph, newest first, those of earlier servers included."""
        ids = job_records(trusted).ids()[:limit]
        with self._lock:
            known = {job.facts.id for job in self._known.values() if job.facts.graph_id == graph_id}
        found = (self.find(graph_id, trusted, job_id) for job_id in sorted({*ids, *known}, reverse=True)[:limit])
        return [facts for facts in found if facts is not None]

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

    def _forget(self) -> dict[str, list[str]]:
        """Forget the oldest jobs that have ended; returns their ids by graph."""
        ended = [job.facts for job in self._known.values() if job.facts.state.is_final]
        forgotten: dict[str, list[str]] = {}
        for facts in ended[: max(0, len(self._known) - self._kept_max)]:
            del self._known[facts.id]
            forgotten.setdefault(facts.graph_id, []).append(facts.id)
        self._keys = {name: job_id for name, job_id in self._keys.items() if job_id in self._known}
        return forgotten

    def _start_thread(self) -> None:
        if not self._started:
            threading.Thread(target=self._say_seen, name="omnigraph-jobs-seen", daemon=True).start()
        if self._started < self._threads:
            self._started += 1
            threading.Thread(target=self._run, name=f"omnigraph-job-{self._started}", daemon=True).start()

    def _run(self) -> None:
        while True:
            job, work = self._waiting.get()
            self._note(job, state=JobState.RUNNING, started_us=self._clock.now_us())
            try:
                result = work(job.progress)
            except Exception as error:
                failed = _error(error, job.facts.id)
                self._note(job, state=JobState.FAILED, error=failed, finished_us=self._clock.now_us())
            else:
                self._note(job, state=JobState.SUCCEEDED, result=result, finished_us=self._clock.now_us())
            # The queue's next item may come much later, and the work may hold an upload.
            del job, work

    def _say_seen(self) -> None:
        """Note periodically in the records of open jobs that their process runs: other servers cannot look."""
        pause = threading.Event()
        while not pause.wait(SEEN_SECONDS):
            with self._lock:
                still_open = [job for job in self._known.values() if not job.facts.state.is_final]
            for job in still_open:
                self._note(job)

    def _note(self, job: Job, **changes: Any) -> None:
        """Change a job, in its record first: an answer that a client has seen must outlive this process."""
        now = self._clock.now_us()
        with self._lock:
            facts = job.facts
            if facts.state.is_final:
                return
            records = self._records[facts.graph_id]
        try:
            records.write(facts.id, {**facts.to_record(), **changes, "seen_us": now})
        except StorageError as error:
            # The job itself is not harmed. After a restart its commit tells what became of it.
            logger.error("the record of job %s was not written: %s", facts.id, error.message)
        job.update(**changes, seen_us=now)


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
