"""Rows of loads of whole tables."""

from __future__ import annotations

from typing import Final

from omnigraph.server.handlers import bulk_loads
from omnigraph.server.handlers.commit_headers import WRITE_HEADERS, WRITE_PARAMETERS
from omnigraph.server.http.bodies import RawBody
from omnigraph.server.http.uploads import FORMATS, UploadBody
from omnigraph.server.limits import LOAD_BYTES_MAX
from omnigraph.server.routes.additions.jobs import ACCEPTED
from omnigraph.server.routes.rows import LOAD_PARAMETERS, Route, addition
from omnigraph.wire.http.arrow import ARROW
from omnigraph.wire.http.models.loads import GraphBatchLoadOutput
from omnigraph.wire.http.openapi import JSON, Body, Parameter, Reply

_PARAMETERS: Final = (*LOAD_PARAMETERS, *bulk_loads.COLUMN_PARAMETERS, *WRITE_PARAMETERS)

TABLE_LOADS: Final = (
    Route(
        addition(
            "POST",
            "/load/arrow",
            "loadArrow",
            "mutations",
            "Load an Arrow stream as one commit.",
            Reply("What was loaded.", {JSON: GraphBatchLoadOutput}),
            (Parameter("type", str, "The type of the rows.", required=True), *_PARAMETERS),
            Body({ARROW: None}),
            statuses=(409,),
        ),
        bulk_loads.ARROW_LOAD,
        RawBody((ARROW,), LOAD_BYTES_MAX),
        precheck=bulk_loads.check,
        is_strict=True,
        is_body_last=True,
        headers=WRITE_HEADERS,
    ),
    Route(
        addition(
            "POST",
            "/jobs/load",
            "loadAsJob",
            "mutations",
            "Load a file of any size as a job, which becomes one commit.",
            ACCEPTED,
            (
                Parameter("type", str, "The type of rows that do not name one. JSON lines may name it themselves."),
                Parameter("dry_run", bool, "Check the file and count what the load would change. [default: false]"),
                *_PARAMETERS,
            ),
            Body(dict.fromkeys(FORMATS)),
            statuses=(409,),
            status=202,
        ),
        bulk_loads.LOAD_JOB,
        UploadBody(),
        precheck=bulk_loads.check,
        is_strict=True,
        is_body_last=True,
        headers=WRITE_HEADERS,
    ),
)
