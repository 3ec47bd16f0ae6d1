"""A file that counts its bytes, for formats and for the results of exports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO


class CountingFile:
    """A file that counts its bytes. Closing is left to the caller: writers of formats close after a failure too."""

    closed = False

    def __init__(self, inner: BinaryIO) -> None:
        self._inner = inner
        self.position = 0

    def write(self, content: bytes) -> int:
        self._inner.write(content)
        self.position += len(content)
        return len(content)

    def writelines(self, parts: Iterable[bytes]) -> None:
        for part in parts:
            self.write(part)

    def tell(self) -> int:
        return self.position

    def flush(self) -> None:
        self._inner.flush()

    def close(self) -> None:
        """A no-op."""

    def writable(self) -> bool:
        return True
