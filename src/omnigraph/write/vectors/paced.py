"""An embedder within a rate: for a quota that several processes share, each of them gets its part."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from omnigraph.core.ports import Embedder, EmbeddingRole


@dataclass
class PacedEmbedder:
    """Calls an embedder at most so often that ``calls_per_minute`` hold, at even distances."""

    embedder: Embedder
    calls_per_minute: float
    monotonic: Callable[[], float] = field(default=time.monotonic, repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    _next_at: float = field(default=0.0, repr=False)

    @property
    def model(self) -> str:
        return self.embedder.model

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
        now = self.monotonic()
        start = max(now, self._next_at)
        self._next_at = start + 60 / self.calls_per_minute
        if start > now:
            self.sleep(start - now)
        return self.embedder.embed(texts, dimension, role)
