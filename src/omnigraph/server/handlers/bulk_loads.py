"""Loads of whole tables: an Arrow stream that is answered when it is committed, and files of any size as jobs."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from omnigraph.core.actors import Need
from omnigraph.engine.engine_choice import EMBEDDED, check_engine
from omnigraph.errors import InputError, ViolationError
from omnigraph.rows.violations import Violation
from omnigraph.server.call import Call
from omnigraph.server.handlers.commit_headers import write_options
from omnigraph.server.handlers.jobs import accepted
from omnigraph.server.handlers.loads import Destination, lines_size
from omnigraph.server.http.refusals import bad_request
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.http.uploads import Upload
from omnigraph.server.jobs.job import Written
from omnigraph.server.jobs.pool import Progress
from omnigraph.server.roads import Gate, Lane, Road
from omnigraph.wire.http.arrow_input import open_arrow_stream
from omnigraph.wire.http.openapi import Parameter
from omnigraph.wire.writes import load_json, write_preview_json

Result = TypeVar("Result")

ENGINE_VARIABLE: Final = "OMNIGRAPH_SERVER_LOAD_ENGINE"
"""The engine of loads that run as jobs: ``embedded``, ``auto`` or ``spark``. Clients never choose it."""

COLUMN_PARAMETERS: Final = (
    Parameter("map", list[str], "`property=column`, where the names differ; repeated."),
    Parameter("ignore", list[str], "A column to leave out; repeated."),
    Parameter("constant", list[str], "`property=value` for every row, the value as JSON; repeated."),
)


@dataclass(frozen=True, slots=True)
class TableLoad:
    """A load of rows: the destination, the type of rows that do not name one, and the columns."""

    destination: Destination
    type_name: str | None
    columns: Mapping[str, Any]

    @classmethod
    def of_query(cls, call: Call) -> TableLoad:
        """The load that a query string describes; raises Refusal 400."""
        columns = {
            "map": dict(_pair("map", item) for item in call.query.get("map", ())) or None,
            "ignore": call.query.get("ignore", []),
            "constant": {name: _value(text) for name, text in _pairs(call, "constant")} or None,
        }
        return cls(Destination.of_query(call), call.query.get("type"), columns)

    def options(self, call: Call) -> dict[str, Any]:
        """The options of the engine."""
        place = self.destination
        return {
            "mode": place.mode.value,
            "branch": place.branch,
            "base": place.base,
            "type_name": self.type_name,
            **self.columns,
            **write_options(call),
        }


def _pairs(call: Call, name: str) -> Iterator[tuple[str, str]]:
    return (_pair(name, item) for item in call.query.get(name, ()))


def _pair(name: str, text: str) -> tuple[str, str]:
    left, separator, right = text.partition("=")
    if not separator or not left.strip():
        raise bad_request(f"{name} must be property=..., got '{text[:64]}'")
    return left.strip(), right


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise bad_request(f"the value of a constant must be JSON, got '{text[:64]}'") from None


def needs(call: Call) -> Iterator[Need]:
    """``change``, and ``branch_create`` if the branch will be made."""
    return Destination.of_query(call).needs(call)


def check(call: Call) -> None:
    """Refuse a query string that describes no load, before a large body is read."""
    TableLoad.of_query(call)


def arrow(call: Call, data: bytes) -> Reply:
    """Load an Arrow stream as one commit."""
    wanted = TableLoad.of_query(call)
    result = call.graph.load(open_arrow_stream(io.BytesIO(data)), **wanted.options(call))
    return json_reply(load_json(result))


def as_job(call: Call, upload: Upload) -> Reply:
    """Load an upload as a job, or count what that would change."""
    is_preview = bool(call.query.get("dry_run"))
    graph, options, job_id = call.graph, TableLoad.of_query(call).options(call), call.jobs.new_id()
    # A load without a key of its own gets one, by which its commit is found after a restart.
    options["idempotency_key"] = options["idempotency_key"] or f"job:{job_id}"
    written = None if is_preview else Written(options["branch"], options["idempotency_key"])
    engine = check_engine(os.environ.get(ENGINE_VARIABLE, "").strip() or EMBEDDED)

    def read(verb: Callable[..., Result], progress: Progress) -> Result:
        if upload.format == "arrow":
            with upload.open() as file:
                return verb(open_arrow_stream(file), **options, progress=progress)
        if engine != EMBEDDED:
            return _on_spark(verb, upload, options | {"engine": engine, "progress": progress})
        with upload.open() as file:
            return verb(file, **options, format=upload.format, progress=progress)

    def work(progress: Progress) -> dict[str, Any]:
        with closing(upload):
            if is_preview:
                return write_preview_json(read(graph.load_preview, progress))
            return load_json(read(graph.load, progress))

    return accepted(call, "load_preview" if is_preview else "load", "rows", work, job_id, written)


def _on_spark(verb: Callable[..., Result], upload: Upload, options: dict[str, Any]) -> Result:
    """Load by path: workers must see the directory of uploads. Small uploads may still be loaded in this process."""
    try:
        return verb(upload.path, **options, format=upload.format)
    except InputError as error:
        raise _without_path(error, upload) from error


def _without_path(error: InputError, upload: Upload) -> InputError:
    """The error with the name of the upload instead of its path, which is one of this machine."""
    message = error.message.replace(upload.path, upload.name)
    if not isinstance(error, ViolationError):
        return InputError(message, hint=error.hint)
    samples = [
        replace(item, place=replace(item.place, source=upload.name))
        if isinstance(item, Violation) and item.place is not None
        else item
        for item in error.samples
    ]
    return ViolationError(message, total=error.total, samples=samples, counts=error.counts, hint=error.hint)


def _always(call: Call) -> bool:
    return True


def upload_size(upload: Upload) -> int:
    """The bytes of the upload."""
    return upload.size


ARROW_LOAD = Road(Gate(needs, is_blocking=_always), arrow, Lane.WRITE, size=lines_size)
LOAD_JOB = Road(Gate(needs, is_blocking=_always), as_job, Lane.WRITE, size=upload_size)
