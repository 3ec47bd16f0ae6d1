"""Copying files between two stores, with the recorded size and checksum of each compared on the way.

A damaged source file is reported before its copy appears: a store without checksums would keep it undetected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import FileRecord
from omnigraph.errors import CorruptionError
from omnigraph.storage.objects.durability import CHECKSUM_CHARS
from omnigraph.storage.objects.protocol import Objects


def copy_files(
    source: Objects, target: Objects, files: Sequence[FileRecord], parallel: int, progress: Callable[[int], None]
) -> None:
    """Copy files to the same paths. The first failure ends the copy; ``NotFoundError`` means a file has vanished."""
    with ThreadPoolExecutor(parallel) as pool:
        pending = [pool.submit(_copy, source, target, file) for file in files]
        try:
            for number, done in enumerate(as_completed(pending), 1):
                done.result()
                progress(number)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _copy(source: Objects, target: Objects, file: FileRecord) -> None:
    target.write_chunks(file.path, _checked(source.read_chunks(file.path), file))


def _checked(chunks: Iterator[bytes], file: FileRecord) -> Iterator[bytes]:
    digest = hashlib.sha256()
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if file.checksum is not None:
            digest.update(chunk)
        yield chunk
    if size != file.size:
        raise _damaged(file, f"has {size} bytes, not {file.size}")
    if file.checksum not in (None, digest.hexdigest()[:CHECKSUM_CHARS]):
        raise _damaged(file, "is damaged: its checksum differs from the recorded one")


def _damaged(file: FileRecord, what: str) -> CorruptionError:
    return CorruptionError(f"{file.path} {what}", hint=verify_hint("lists the damage of the source"), path=file.path)
