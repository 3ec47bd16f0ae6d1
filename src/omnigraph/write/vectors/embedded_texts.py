"""Cache of the texts that one load has embedded, so that no text is embedded twice.

It is a SQLite database in a temporary file: a small one stays in its page cache, a large one is bounded by disk.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from omnigraph.errors import StorageError
from omnigraph.rows.embedding import Vectors
from omnigraph.write import limits

LOOKED_UP_MAX = 500
"""Texts per statement: below the parameter limit of every SQLite."""


class EmbeddedTexts:
    """Vectors by text and dimension. Not thread-safe."""

    def __init__(self) -> None:
        with _translated():
            # An empty name is a private temporary file, deleted when it is closed or the process ends.
            self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            self._database.execute(f"PRAGMA cache_size = -{limits.EMBEDDED_TEXTS_BYTES // 1024}")
            self._database.execute("PRAGMA journal_mode = OFF")
            self._database.execute("CREATE TABLE vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
            # One transaction for the whole load: each commit would cost as much as there are pages in the cache.
            self._database.execute("BEGIN")

    def close(self) -> None:
        self._database.close()

    def find(self, texts: Sequence[str], dimension: int) -> dict[str, Vectors]:
        """The vectors of texts that were embedded before."""
        by_digest = {_digest(text, dimension): text for text in texts}
        digests = list(by_digest)
        found: dict[str, Vectors] = {}
        with _translated():
            for start in range(0, len(digests), LOOKED_UP_MAX):
                part = digests[start : start + LOOKED_UP_MAX]
                marks = ", ".join("?" * len(part))
                rows = self._database.execute(f"SELECT text, vector FROM vectors WHERE text IN ({marks})", part)
                found.update((by_digest[digest], np.frombuffer(vector, np.float32)) for digest, vector in rows)
        return found

    def put(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Store embedded texts."""
        rows = [
            (_digest(text, vectors.shape[1]), vector.tobytes()) for text, vector in zip(texts, vectors, strict=True)
        ]
        with _translated():
            self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)


def _digest(text: str, dimension: int) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16, salt=dimension.to_bytes(8, "little")).digest()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(
            f"the temporary file for vectors failed: {error}", hint="check the free space of the temporary directory"
        ) from error
