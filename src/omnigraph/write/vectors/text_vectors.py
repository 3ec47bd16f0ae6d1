"""Vectors of the texts of one write, each embedded once.

Sources in order: the committed row if its text is unchanged, an equal text of this write, the embedder.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.core.ports import Embedder
from omnigraph.rows.embedding import EmbeddedProperty, Vectors, call_embedder, check_model
from omnigraph.schema.catalog import NodeType
from omnigraph.write import limits
from omnigraph.write.vectors.committed_vectors import CommittedVectors
from omnigraph.write.vectors.embedded_texts import EmbeddedTexts


class TextVectors:
    """An embedder with a cache of its vectors. Not thread-safe."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @cached_property
    def _known(self) -> EmbeddedTexts:
        return EmbeddedTexts()

    def close(self) -> None:
        if "_known" in self.__dict__:
            self._known.close()

    def of(
        self,
        node: NodeType,
        prop: EmbeddedProperty,
        ids: pa.Array,
        texts: pa.Array,
        committed: CommittedVectors | None,
    ) -> Vectors:
        """Vectors of the texts of some rows. ``committed`` is the table that may hold vectors of the same rows."""
        vectors = np.zeros((len(texts), prop.dimension), np.float32)
        left = np.arange(len(texts))
        if committed is not None:
            kept, found = committed.unchanged(ids, texts, prop)
            vectors[kept] = found
            left = np.delete(left, kept)
        if len(left):
            check_model(node, prop.name, self.embedder)
            wanted = texts.take(pa.array(left)).dictionary_encode()
            vectors[left] = self._embedded(wanted.dictionary.to_pylist(), prop.dimension)[wanted.indices.to_numpy()]
        return vectors

    def _embedded(self, texts: list[str], dimension: int) -> Vectors:
        """Vectors of distinct texts, from the cache or the embedder."""
        known = self._known.find(texts, dimension)
        missing = [text for text in texts if text not in known]
        for start in range(0, len(missing), limits.TEXTS_PER_CALL):
            part = missing[start : start + limits.TEXTS_PER_CALL]
            vectors = call_embedder(self.embedder, part, dimension, "document")
            self._known.put(part, vectors)
            known.update(zip(part, vectors, strict=True))
        return np.stack([known[text] for text in texts])
