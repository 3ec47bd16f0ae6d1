"""The form of an answer with rows: JSON, or Arrow if the caller accepts that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa

from omnigraph.server.http.replies import Reply, chunked_reply
from omnigraph.wire.http.arrow import ARROW, arrow_chunks
from omnigraph.wire.http.openapi import Parameter

ACCEPT: Final = "accept"
COMMIT_HEADER: Final = "omnigraph-snapshot-id"

ACCEPT_PARAMETER: Final = Parameter(
    "Accept", str, f"`{ARROW}` for an Arrow stream instead of JSON.", where="header", is_addition=True
)


def wants_arrow(given: Mapping[str, tuple[str, ...]]) -> bool:
    """True if the ``Accept`` header of a request names the media type of Arrow streams, and does not refuse it."""
    ranges = [part.split(";") for value in given.get(ACCEPT, ()) for part in value.split(",")]
    return any(kind.strip().lower() == ARROW and not _is_refused(options) for kind, *options in ranges)


def _is_refused(options: list[str]) -> bool:
    weights = [option.partition("=")[2].strip() for option in options if option.strip().lower().startswith("q=")]
    return any(weight.rstrip("0") in ("", "0.", "0") for weight in weights)


def arrow_reply(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], commit_id: str, headers: dict[str, str] | None = None
) -> Reply:
    """Rows as an Arrow stream; the commit that they were read at is a header."""
    shown = {COMMIT_HEADER: commit_id, "vary": "accept", **(headers or {})}
    return chunked_reply(arrow_chunks(schema, batches), ARROW, shown)
