"""Deterministic mock embeddings: the same text gives the same vector on every machine, without any meaning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.ports import EmbeddingRole
from omnigraph.embed.vectors import normalized

_BITS = 0xFFFF_FFFF_FFFF_FFFF
_FNV_OFFSET = 0xCBF2_9CE4_8422_2325
_FNV_PRIME = 0x100_0000_01B3


@dataclass(frozen=True, slots=True)
class MockEmbedder:
    """Embedder for tests and experiments."""

    model: str = ""

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> list[tuple[float, ...]]:
        """Vectors that depend on the text only; the role is ignored."""
        return [self._vector(text, dimension) for text in texts]

    def _vector(self, text: str, dimension: int) -> tuple[float, ...]:
        state = fnv1a(text.encode())
        ratios = np.empty(dimension, np.float64)
        for index in range(dimension):
            state ^= state << 13 & _BITS
            state ^= state >> 7
            state ^= state << 17 & _BITS
            # Omnigraph 0.10 rounds both integers to 64-bit floats before dividing; exact division would differ.
            ratios[index] = float(state) / float(_BITS)
        values = ratios.astype(np.float32) * np.float32(2) - np.float32(1)
        return normalized(values, self.model)


def fnv1a(content: bytes) -> int:
    """The 64-bit FNV-1a hash."""
    digest = _FNV_OFFSET
    for byte in content:
        digest = (digest ^ byte) * _FNV_PRIME & _BITS
    return digest
