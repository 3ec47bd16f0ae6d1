"""Rows of jobs and of maintenance."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel

from omnigraph.server.handlers import jobs
from omnigraph.server.handlers.commit_headers import IDEMPOTENCY_KEY, WRITE_PARAMETERS
from omnigraph.server.http.bodies import OptionalJsonBody
from omnigraph.server.roads import Road
from omnigraph.server.routes.rows import BRANCH, Route, addition
from omnigraph.wire.http.models.jobs import (
    CleanupRequest,
    FindingsOutput,
    JobListOutput,
    JobOutput,
    OptimizeRequest,
    VerifyRequest,
)
from omnigraph.wire.http.openapi import JSON, Body, Parameter, Reply

ACCEPTED: Final = Reply("The job.", {JSON: JobOutput}, {"Location": "The path of the job."})
_KEY: Final = WRITE_PARAMETERS[:1]


def _maintenance(task: str, summary: str, model: type[BaseModel], road: Road) -> Route:
    return Route(
        addition(
            "POST",
            f"/maintenance/{task}",
            task,
            "management",
            summary,
            ACCEPTED,
            _KEY,
            Body({JSON: model}, required=False),
            statuses=(409,),
            status=202,
        ),
        road,
        OptionalJsonBody(model),
        headers=(IDEMPOTENCY_KEY,),
    )


JOBS: Final = (
    Route(
        addition(
            "GET",
            "/jobs",
            "listJobs",
            "management",
            "The jobs of the caller, newest first.",
            Reply("The jobs.", {JSON: JobListOutput}),
            (
                Parameter("all", bool, "Those of all actors. [default: false]"),
                Parameter("limit", int, "Jobs at most. [default: 100]"),
            ),
        ),
        jobs.LIST,
        is_strict=True,
    ),
    Route(
        addition(
            "GET",
            "/jobs/{job_id}",
            "getJob",
            "management",
            "One job with its progress, and its result or error.",
            Reply("The job.", {JSON: JobOutput}),
        ),
        jobs.SHOW,
        is_strict=True,
    ),
    Route(
        addition(
            "GET",
            "/maintenance/doctor",
            "doctor",
            "management",
            "Findings about a graph: guarantees of its store, sizes, indexes, and advice.",
            Reply("The findings.", {JSON: FindingsOutput}),
            (BRANCH,),
        ),
        jobs.DOCTOR,
        is_strict=True,
    ),
    _maintenance(
        "optimize", "Compact the tables of a branch and complete their indexes.", OptimizeRequest, jobs.OPTIMIZE
    ),
    _maintenance("cleanup", "Delete unreferenced files, and expire old commits.", CleanupRequest, jobs.CLEANUP),
    _maintenance("verify", "Check that every file of the history exists with its content.", VerifyRequest, jobs.VERIFY),
)
