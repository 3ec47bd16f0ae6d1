"""Bodies that are kept in a file: those of jobs, which may be larger than memory."""

from __future__ import annotations

import asyncio
import io
import os
import tempfile
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from starlette.requests import Request

from omnigraph.errors import UsageError
from omnigraph.server.http.bodies import announced_type, over_limit, parts_of
from omnigraph.server.http.refusals import Rejection, bad_request

DIRECTORY_VARIABLE: Final = "OMNIGRAPH_SERVER_UPLOADS"
BYTES_VARIABLE: Final = "OMNIGRAPH_SERVER_UPLOAD_BYTES_MAX"
BYTES_MAX: Final = 8 * 2**30
"""Bytes of an upload, unless the environment says otherwise."""
WRITTEN_BYTES: Final = 1024 * 1024
"""Bytes that are written at a time, on a thread: the event loop does not wait for the disk."""

FORMATS: Final[Mapping[str, str]] = {
    "application/x-ndjson": "jsonl",
    "application/json": "json",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.apache.arrow.stream": "arrow",
}
"""Formats of uploads by media type."""


class Upload:
    """A body in a file that has no other user; closing it deletes the file, and so does losing the last reference."""

    def __init__(self, format_name: str, directory: str | None) -> None:
        self.format = format_name
        self.size = 0
        self._file: Any = tempfile.NamedTemporaryFile(  # noqa: SIM115 - outlives the request, and is closed by the job
            prefix="omnigraph-", suffix=f".{format_name}", dir=directory, delete=False
        )
        # Removed by its finalizer at the latest: a request may be refused after its body was read.
        self._end = weakref.finalize(self, _remove, self._file)

    @property
    def path(self) -> str:
        return str(self._file.name)

    @property
    def name(self) -> str:
        """The name in messages, which says nothing about this machine."""
        return f"upload.{self.format}"

    def write(self, content: bytes) -> None:
        self._file.write(content)
        self.size += len(content)

    def finish(self) -> None:
        self._file.flush()

    def open(self) -> BinaryIO:
        """The content, under its name."""
        return _Named(self.path, self.name)

    def close(self) -> None:
        self._end()


def _remove(file: Any) -> None:
    file.close()
    # The operator may have emptied the directory.
    with suppress(FileNotFoundError):
        os.unlink(file.name)


class _Named(io.BufferedReader):
    """A file whose name in messages is that of an upload."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(io.FileIO(path))
        self._shown = name

    @property
    def name(self) -> str:
        return self._shown


@dataclass(frozen=True, slots=True)
class UploadBody:
    """A body of one of the formats, kept in a file; mistakes have the envelope of errors."""

    async def read(self, request: Request) -> Upload:
        format_name = FORMATS[announced_type(request, tuple(FORMATS))]
        bytes_max = _bytes_max(os.environ)
        upload = await asyncio.to_thread(Upload, format_name, os.environ.get(DIRECTORY_VARIABLE))
        try:
            await _receive(request, upload, bytes_max)
        except Rejection as rejection:
            upload.close()
            raise over_limit(rejection, bytes_max) from None
        except BaseException:
            upload.close()
            raise
        if not upload.size:
            upload.close()
            raise bad_request("the request has no body")
        return upload


async def _receive(request: Request, upload: Upload, bytes_max: int) -> None:
    pending = bytearray()
    async for part in parts_of(request, bytes_max):
        pending += part
        if len(pending) >= WRITTEN_BYTES:
            await asyncio.to_thread(upload.write, bytes(pending))
            pending.clear()
    await asyncio.to_thread(upload.write, bytes(pending))
    await asyncio.to_thread(upload.finish)


def _bytes_max(environment: Mapping[str, str]) -> int:
    text = environment.get(BYTES_VARIABLE, "").strip()
    if not text:
        return BYTES_MAX
    if not text.isascii() or not text.isdecimal():
        raise UsageError(f"{BYTES_VARIABLE} is {text!r}, which is no number of bytes")
    return int(text)
