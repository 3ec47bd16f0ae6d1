"""A value of a Blob property behind HTTP, read whole or in ranges."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from omnigraph.client.streams import COMMIT_HEADER
from omnigraph.client.transport import Query, Request, Transport
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.engine.blobs import READ_BYTES_MAX
from omnigraph.errors import BlobRangeError


@dataclass(frozen=True, repr=False)
class RemoteBlob(Displayed):
    """One value at one commit, with the methods of ``omnigraph.Blob``. It is immutable."""

    transport: Transport = field(repr=False)
    query: Query = field(repr=False)
    commit_id: str
    size: int
    place_etag: str
    """The entity tag of the server: equal tags mean equal bytes."""

    def _display(self) -> Display:
        return Display(f"Blob of {counted(self.size, 'byte')} at {self.commit_id}")

    @cached_property
    def etag(self) -> str:
        """A strong entity tag: equal for equal bytes, wherever they are stored. The first access reads the value."""
        digest = hashlib.sha256()
        for chunk in self.chunks():
            digest.update(chunk)
        return f'"{digest.hexdigest()[:32]}"'

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """``length`` bytes from ``start``, or all that follow. A range outside the value raises BlobRangeError."""
        return b"".join(self.chunks(start, length))

    def chunks(self, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The same in chunks, with one chunk in memory."""
        end = self.size if length is None else start + length
        if not 0 <= start <= end <= self.size:
            raise BlobRangeError(
                f"the blob has {self.size} bytes, and not those from {start} to {end}",
                start=start,
                end=end,
                length=self.size,
            )
        return (
            self._read(position, min(position + READ_BYTES_MAX, end)) for position in range(start, end, READ_BYTES_MAX)
        )

    def _read(self, start: int, end: int) -> bytes:
        ranged = {"range": f"bytes={start}-{end - 1}"}
        _, body = self.transport.fetch(Request("GET", "/blob", self.query, headers=ranged))
        return body


def find_blob(transport: Transport, query: Query) -> RemoteBlob:
    """The value that a query string names, at the commit that the server found it at."""
    # HEAD has no body, and so no description of an error: the first byte tells as much.
    response, body = transport.fetch(Request("GET", "/blob", query, headers={"range": "bytes=0-0"}))
    size = int(response.headers.get("content-range", "").rpartition("/")[2] or len(body))
    commit_id = response.headers[COMMIT_HEADER]
    fixed = {name: value for name, value in query.items() if name != "branch"} | {"snapshot": commit_id}
    return RemoteBlob(transport, fixed, commit_id, size, response.headers["etag"])
