"""Limits of the server, with unit and reason. They apply before work begins, so that no request can exhaust it."""

from __future__ import annotations

from typing import Final

BODY_BYTES_MAX: Final = 1024 * 1024
"""Bytes of an ordinary body: a query with its parameters is far smaller."""

LOAD_BYTES_MAX: Final = 32 * 1024 * 1024
"""Bytes of the body of a load that is answered when it is committed. Larger ones are jobs."""

JSON_DEPTH_MAX: Final = 128
"""Nested arrays and objects of a JSON body, as in Omnigraph 0.10; deeper ones would exhaust the stack of a parser."""

BODY_IDLE_SECONDS: Final = 30.0
"""Time between two parts of a body, after which the client is taken for gone."""

QUERY_SECONDS: Final = 30.0
"""Time limit of a query, by default."""

STALL_SECONDS: Final = 60.0
"""Time that a client may take to accept a part of a stream; a reader that stopped must not hold a slot for ever."""

BUFFERED_BYTES_MAX: Final = 1024 * 1024
"""Bytes of an answer that is complete before its first byte is sent; larger ones are streamed as they are computed."""

CHUNK_BYTES: Final = 64 * 1024
"""Bytes of one part of a stream."""
