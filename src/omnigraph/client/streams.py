"""Bodies of answers: Arrow streams that must be whole, and values that a request sends as JSON."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from omnigraph.core.python_values import plain_value
from omnigraph.core.temporal import format_duration, timedelta_to_milliseconds
from omnigraph.errors import ServerUnavailable
from omnigraph.wire.http.arrow import ARROW

ACCEPT_ARROW: Final = {"accept": ARROW}
COMMIT_HEADER: Final = "omnigraph-snapshot-id"
_END_MARK: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def arrow_table(body: bytes) -> pa.Table:
    """The table of an Arrow stream. pyarrow takes a stream without its end mark for a whole one, so look for it."""
    if not body.endswith(_END_MARK):
        raise ServerUnavailable("the rows of the server end without their end mark", hint="run it again")
    with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
        return reader.read_all()


def wire_params(params: Mapping[str, object] | None) -> dict[str, Any] | None:
    """Parameters of a query as JSON values."""
    return None if params is None else {name: wire_value(value) for name, value in params.items()}


def wire_value(given: object) -> Any:
    """A value as JSON: times as ISO texts, bytes as base64 with its mark."""
    value = plain_value(given)
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return format_duration(timedelta_to_milliseconds(value))
        case Decimal():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return "base64:" + base64.b64encode(bytes(value)).decode()
        case Mapping():
            return {str(name): wire_value(item) for name, item in value.items()}
        case list() | tuple():
            return [wire_value(item) for item in value]
        case _:
            return value
