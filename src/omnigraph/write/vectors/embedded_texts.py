"""The vectors of texts that one load has embedded, so that no text is embedded twice.

Kept in a database of its own in a temporary file: small ones never leave its cache, large ones are bounded by disk.
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
"""Texts of one statement: below the number of parameters that every SQLite takes."""


class EmbeddedTexts:
    """Vectors by text and dimension. One thread at a time."""

    def __init__(self) -> None:
        with _translated():
            # No name: a file that nobody else sees, gone when it is closed or the process ends.
            self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            self._database.execute(f"PRAGMA cache_size = -{limits.EMBEDDED_TEXTS_BYTES // 1024}")
            self._database.execute("PRAGMA journal_mode = OFF")
            self._database.execute("CREATE TABLE vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
            # One transaction for all of it: ending one costs as much as there are pages in the cache.
            self._database.execute("BEGIN")

    def close(self) -> None:
        self._database.close()

    def find(self, texts: Sequence[str], dimension: int) -> dict[str, Vectors]:
        """The vectors of the texts that were embedded before."""
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
        """Remember what was embedded."""
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
            f"vectors cannot be kept in a temporary file: {error}", hint="is there room in the temporary directory?"
        ) from error
