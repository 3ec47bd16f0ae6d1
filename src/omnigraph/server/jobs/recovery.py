"""Jobs of servers that are gone: what became of them, from their records and the commits of their graph.

===========================  ===============================================  =====================================
record                       process of the job                               answer
===========================  ===============================================  =====================================
none                         any                                              no such job
final                        any                                              as recorded
not final                    runs, or said so a short time ago                as recorded
not final, with a commit     gone                                             succeeded, with the commit
not final, without a commit  gone                                             failed: interrupted
===========================  ===============================================  =====================================

An answer about a process that is gone is final, so it is recorded.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from omnigraph.engine.graph import Graph
from omnigraph.engine.load_options import LoadOptions
from omnigraph.engine.upkeep.job_records import job_records
from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.server.jobs.job import JobFacts, JobState
from omnigraph.server.jobs.owners import is_alive
from omnigraph.wire.http.errors import refusal_json
from omnigraph.wire.writes import load_json

logger = logging.getLogger("omnigraph.server.jobs")

SEEN_SECONDS: Final = 30.0
"""Time after which a process says again that its jobs run."""
GONE_SECONDS: Final = 4 * SEEN_SECONDS
"""Silence after which a process of another machine is taken to be gone."""

INTERRUPTED: Final = "the server ended before the job did, and nothing of it was committed: send it again"


def recovered(job_id: str, graph_id: str, trusted: Graph, now_us: int) -> JobFacts | None:
    """A job that this process does not know; None if no server has acknowledged it for this graph."""
    records = job_records(trusted)
    record = records.read(job_id)
    if record is None:
        return None
    facts = JobFacts.of_record(record)
    if facts.graph_id != graph_id:
        return None
    if facts.state.is_final or not _is_gone(facts, now_us):
        return facts
    ended = _ended(facts, trusted, now_us)
    try:
        records.write(job_id, ended.to_record())
    except StorageError as error:
        logger.error("the record of job %s was not written: %s", job_id, error.message)
    return ended


def _is_gone(facts: JobFacts, now_us: int) -> bool:
    alive = is_alive(facts.owner)
    return now_us - facts.seen_us > GONE_SECONDS * 1_000_000 if alive is None else not alive


def _ended(facts: JobFacts, trusted: Graph, now_us: int) -> JobFacts:
    if facts.written is not None:
        options = LoadOptions(branch=facts.written.branch, idempotency_key=facts.written.key)
        try:
            made = trusted.earlier_load(options)
        except OmnigraphError:
            made = None
        if made is not None and made.commit is not None:
            finished = made.commit.created_at_us
            return replace(facts, state=JobState.SUCCEEDED, result=load_json(made), finished_us=finished)
    error = refusal_json(INTERRUPTED, None, "interrupted", retryable=True)
    return replace(facts, state=JobState.FAILED, error=error, finished_us=now_us)
