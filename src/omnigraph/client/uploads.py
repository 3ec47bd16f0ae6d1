"""Data of a load, read here and sent as JSON lines: files, frames and records of every kind that ``Graph.load`` reads.

The input is read with the schema of the branch, so mistakes in it are found before anything is sent. Small input is
one request; larger input is a job of the server, whose end is awaited.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any, Final

from omnigraph.client.errors import unsupported
from omnigraph.client.jobs import awaited
from omnigraph.client.transport import Request, Transport
from omnigraph.core.ports import UlidSource
from omnigraph.engine.load import sources
from omnigraph.engine.load_options import SPARK_ONLY, LoadOptions
from omnigraph.ingest.mapped import read_mapped
from omnigraph.ingest.reading import Reading
from omnigraph.rows.omissions import Omissions
from omnigraph.rows.violations import Violations
from omnigraph.rows.write.json import write_typed
from omnigraph.schema.catalog import Catalog
from omnigraph.write.violations import violation_error

REQUEST_BYTES_MAX: Final = 16 * 1024 * 1024
"""Bytes of lines that are one request; servers take up to 32 MiB. More of them are a job."""
_NDJSON: Final = {"content-type": "application/x-ndjson"}


def refuse_local_options(options: LoadOptions) -> None:
    """Raise RemoteUnsupported for options whose work a server does not do."""
    defaults = LoadOptions()
    for name in (*SPARK_ONLY, "engine", "reject_to", "stats", "actor"):
        if getattr(options, name) != getattr(defaults, name):
            raise unsupported(f"load({name}=...)", "the server does the writing, as the actor of the token")


def send(
    transport: Transport, request: Request, data: Any, options: LoadOptions, catalog: Catalog, request_bytes_max: int
) -> dict[str, Any]:
    """Read the data and load it; returns the JSON form of the result. ``request`` holds what all its requests share."""
    with tempfile.SpooledTemporaryFile(max_size=request_bytes_max) as lines:
        rows = 0
        violations = Violations()
        ids = UlidSource()
        # Which properties may be left out depends on the mode, which the server checks.
        reading = Reading(
            catalog,
            ids.new_ids,
            violations,
            options.columns(),
            is_only_type=not isinstance(data, Mapping),
            omissions=Omissions.ALLOWED,
        )
        store_options = options.source_options or {}
        if options.mapping is None:
            found = sources.read(data, options.type_name, reading, options.format, store_options)
        else:
            found = read_mapped(options.mapping, options.named_sources(data), reading, store_options)
        for _, typed in found:
            for chunk in write_typed(typed):
                lines.write(chunk)
            rows += typed.batch.num_rows
            if options.progress is not None:
                options.progress(rows)
        if violations.total:
            raise violation_error(violations)
        size = lines.tell()
        sent = {**request.headers, **_NDJSON}
        if size <= request_bytes_max:
            lines.seek(0)
            return transport.form(_with(request, "/load/ndjson", sent, lines.read()))
        job = transport.form(_with(request, "/jobs/load", {**sent, "content-length": str(size)}, lines))
    return awaited(transport, job, request)


def _with(request: Request, path: str, headers: Mapping[str, str], content: Any) -> Request:
    return Request(
        "POST", path, request.query, content=content, headers=headers, change=request.change, key=request.key
    )
