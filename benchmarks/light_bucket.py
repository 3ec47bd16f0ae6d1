"""A bucket in the memory of a process of its own, which answers after a latency and takes little processor time.

The server of the tests is a complete one in Python, behind a proxy in the process of the client: together they take
more processor time for a commit than the client does. This one has what the library asks of a bucket: objects with
conditional creation, ranges and lists. It counts waves, the longest chain of requests that each began after the one
before it was answered.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

NAME = "bucket"
_MOMENT = ("2026-01-01T00:00:00.000Z", "Thu, 01 Jan 2026 00:00:00 GMT")
_REASONS = {200: "OK", 204: "No Content", 206: "Partial Content", 404: "Not Found", 412: "Precondition Failed"}

Headers = dict[str, str]


@dataclass
class _Bucket:
    latency: float = 0.0
    requests: int = 0
    waves: int = 0
    answered: int = 0
    objects: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Content with the number of its write, which is the ETag."""
    writes: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The requests of one connection."""
        try:
            while line := await reader.readline():
                method, target, _ = line.decode().split(" ", 2)
                headers: Headers = {}
                while (line := await reader.readline()).strip():
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                number = self.answered + 1
                self.requests += 1
                self.waves = max(self.waves, number)
                await asyncio.sleep(self.latency)
                writer.write(self._answer(method, target, headers, body))
                self.answered = max(self.answered, number)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _answer(self, method: str, target: str, headers: Headers, body: bytes) -> bytes:
        parts = urlsplit(target)
        key = unquote(parts.path).removeprefix(f"/{NAME}").lstrip("/")
        found = self.objects.get(key)
        match method:
            case "PUT":
                wanted = headers.get("if-match")
                is_changed = wanted is not None and (found is None or wanted.strip('"') != str(found[0]))
                if is_changed or ("if-none-match" in headers and found is not None):
                    return _response(412, b"<Error><Code>PreconditionFailed</Code></Error>")
                self.writes += 1
                self.objects[key] = self.writes, body
                return _response(200, etag=self.writes)
            case "DELETE":
                self.objects.pop(key, None)
                return _response(204)
            case "GET" if not key:
                return _response(200, self._list({name: item[0] for name, item in parse_qs(parts.query).items()}))
        if found is None:
            return _response(404, b"<Error><Code>NoSuchKey</Code></Error>")
        etag, content = found
        if method == "HEAD":
            return _response(200, etag=etag, length=len(content))
        first, last = _range(headers.get("range"), len(content))
        if "range" not in headers:
            return _response(200, content, etag=etag)
        return _response(206, content[first : last + 1], etag=etag, part=f"bytes {first}-{last}/{len(content)}")

    def _list(self, query: Headers) -> bytes:
        prefix, delimiter, after = (query.get(name, "") for name in ("prefix", "delimiter", "start-after"))
        objects: list[str] = []
        directories: dict[str, None] = {}
        for key in sorted(key for key in self.objects if key.startswith(prefix) and key > after):
            head, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if cut:
                directories[prefix + head + cut] = None
            else:
                etag, content = self.objects[key]
                facts = f"<LastModified>{_MOMENT[0]}</LastModified><ETag>{etag}</ETag><Size>{len(content)}</Size>"
                objects.append(f"<Contents><Key>{escape(key)}</Key>{facts}</Contents>")
        listed = "".join(objects)
        listed += "".join(f"<CommonPrefixes><Prefix>{escape(it)}</Prefix></CommonPrefixes>" for it in directories)
        count = len(objects) + len(directories)
        head = f"<Name>{NAME}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{count}</KeyCount>"
        return f"<ListBucketResult>{head}<IsTruncated>false</IsTruncated>{listed}</ListBucketResult>".encode()


def _range(given: str | None, size: int) -> tuple[int, int]:
    first, _, last = (given or "bytes=0-").removeprefix("bytes=").partition("-")
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last), size - 1) if last else size - 1


def _response(
    status: int, body: bytes = b"", *, etag: int | None = None, length: int | None = None, part: str | None = None
) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"Last-Modified: {_MOMENT[1]}"]
    lines += [] if etag is None else [f'ETag: "{etag}"']
    lines += [] if part is None else [f"Content-Range: {part}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _run(pipe: Connection) -> None:
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    bucket = _Bucket()
    server = await asyncio.start_server(bucket.serve, "127.0.0.1", 0, backlog=256)
    pipe.send(server.sockets[0].getsockname()[1])
    while True:
        latency = await asyncio.to_thread(pipe.recv)
        pipe.send((bucket.requests, bucket.waves))
        bucket.latency, bucket.requests, bucket.waves, bucket.answered = latency, 0, 0, 0


class LightBucket:
    """The address of the server, and its counters."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.uri = f"s3://{NAME}/graph"
        self.options = {
            "aws_endpoint": f"http://127.0.0.1:{pipe.recv()}",
            "aws_access_key_id": "any",
            "aws_secret_access_key": "any",
            "aws_region": "us-east-1",
            "allow_http": "true",
        }

    def reset(self, latency: float) -> tuple[int, int]:
        """Answer after another latency; returns the requests and waves since the last call."""
        self._pipe.send(latency)
        counts: tuple[int, int] = self._pipe.recv()
        return counts


@contextmanager
def light_bucket() -> Iterator[LightBucket]:
    """A bucket for the time of a block."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there,), daemon=True)
    process.start()
    try:
        yield LightBucket(here)
    finally:
        # Nothing in it is worth an orderly end.
        process.kill()
        process.join()
