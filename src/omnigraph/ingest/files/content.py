"""The bytes of a file: decompressed, as a stream or with random access, and their first part to look at.

Local files, objects in a bucket and open streams look the same here. A stream without random access is copied to a
temporary file only for formats that need it.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, Final, TextIO, cast

import pyarrow as pa

from omnigraph.core.display import with_article
from omnigraph.errors import InputError, UsageError
from omnigraph.ingest.tables import COMPLETE
from omnigraph.storage.objects.outside_files import SourceFile, unreadable
from omnigraph.storage.objects.source_files import RangeFile, open_ranges

READ_BYTES: Final = 4 * 1024 * 1024
"""Bytes of one read: enough to make columns worthwhile, little enough to hold several of them."""

HEAD_BYTES: Final = 64
"""Bytes of the first part, at least: enough for the marks of formats."""

COMPRESSIONS: Final = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
"""Suffix of a compressed file, and the name of its codec in Arrow."""

_MARKS: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}


class Content:
    """The content of one file, open while it is read. ``head`` is its first part."""

    def __init__(
        self,
        name: str,
        raw: Any,
        open_until_end: ExitStack,
        *,
        is_remote: bool = False,
        read_bytes: int = READ_BYTES,
        path: str | None = None,
    ) -> None:
        self.name = name
        self._path = path
        self._read_bytes = read_bytes
        self.is_remote = is_remote
        self._raw = raw
        self._open_until_end = open_until_end
        first = self._read_head(raw)
        self.codec = next((codec for mark, codec in _MARKS.items() if first.startswith(mark)), None)
        self._check_suffix(first)
        self._stream = raw
        if self.codec is not None:
            given = cast(BinaryIO, _Prefixed(first, raw))
            self._stream = pa.CompressedInputStream(pa.PythonFile(given, mode="r"), self.codec)
            first = self._read_head(self._stream)
        self.head: bytes = first

    def chunks(self) -> Iterator[bytes]:
        """The bytes from the start, once."""
        yield self.head
        while chunk := self._read(self._stream):
            yield chunk

    def random_access(self) -> pa.NativeFile:
        """The file with random access; a stream is copied to a temporary file first."""
        if self._path is not None and self.codec is None and self._raw.seekable():
            # Read by Arrow itself: through Python's file every read would wait for the interpreter.
            return pa.OSFile(self._path, "rb")
        file = self._raw
        if self.codec is not None or not file.seekable():
            file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the content
            self._open_until_end.enter_context(file)
            for chunk in self.chunks():
                file.write(chunk)
        file.seek(0)
        return pa.PythonFile(file, mode="r")

    def stream(self) -> pa.NativeFile:
        """The bytes from the start, once, as a file without random access."""
        return pa.PythonFile(_Prefixed(self.head, self._stream), mode="r")

    def broken(self, reason: str) -> InputError:
        """The error of a file that cannot be read to its end."""
        return InputError(f"cannot read {self.name}: {reason}", hint=COMPLETE, path=self.name)

    def _read_head(self, stream: Any) -> bytes:
        """The first part; a read of a pipe may return fewer bytes than its size."""
        head = b""
        while len(head) < HEAD_BYTES and (chunk := self._read(stream)):
            head += chunk
        return head

    def _read(self, stream: Any) -> bytes:
        try:
            chunk = stream.read(self._read_bytes)
            if not isinstance(chunk, bytes | bytearray):
                raise UsageError(
                    f"read() of {self.name} gives {with_article(type(chunk).__name__)}, not bytes",
                    hint="open the file in binary mode",
                )
            return bytes(chunk)
        except InputError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise self.broken(str(error).partition("\n")[0].lower()) from error

    def _check_suffix(self, first: bytes) -> None:
        codec = next((codec for suffix, codec in COMPRESSIONS.items() if self.name.lower().endswith(suffix)), None)
        if codec is not None and codec != self.codec and first:
            raise InputError(
                f"{self.name} is not a {codec} file, although its name ends so",
                hint="rename the file, or compress it again",
                path=self.name,
            )


@contextmanager
def open_content(
    source: str | os.PathLike[str] | SourceFile | BinaryIO, read_bytes: int = READ_BYTES
) -> Iterator[Content]:
    """A file while it is read: a local path, a file found in a bucket, or an open binary stream, which stays open."""
    with ExitStack() as stack:
        if isinstance(source, SourceFile):
            raw: Any = io.BufferedReader(RangeFile(stack.enter_context(open_ranges(source)), source.size), read_bytes)
            yield Content(source.path, raw, stack, is_remote=True, read_bytes=read_bytes)
        elif isinstance(source, str | os.PathLike):
            name = os.fspath(source)
            try:
                raw = stack.enter_context(open(name, "rb"))
            except OSError as error:
                raise unreadable(name, error) from error
            yield Content(name, raw, stack, read_bytes=read_bytes, path=name)
        else:
            yield Content(str(getattr(source, "name", "<stream>")), _readable(source), stack)


def _readable(stream: Any) -> BinaryIO:
    """An open file as bytes; text is encoded again."""
    if getattr(stream, "closed", False) is True:
        name = getattr(stream, "name", type(stream).__name__)
        raise UsageError(f"{name} is closed", hint="open it again, or pass its path")
    if isinstance(stream, io.TextIOBase) or isinstance(getattr(stream, "encoding", None), str):
        return cast(BinaryIO, _Encoded(stream))
    return cast(BinaryIO, stream if hasattr(stream, "seekable") else _Prefixed(b"", stream))


class _Prefixed:
    """A stream whose first bytes were read already, without random access."""

    closed = False

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first = first
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if not self._first:
            return self._rest.read(size)
        if size < 0:
            taken, self._first = self._first, b""
            return taken + self._rest.read()
        taken, self._first = self._first[:size], self._first[size:]
        return taken

    def seekable(self) -> bool:
        return False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        return


class _Encoded(_Prefixed):
    """The bytes of a stream of text, in UTF-8."""

    def __init__(self, text: TextIO) -> None:
        super().__init__(b"", cast(BinaryIO, text))
        self._text = text

    def read(self, size: int = -1) -> bytes:
        return self._text.read(size).encode()
