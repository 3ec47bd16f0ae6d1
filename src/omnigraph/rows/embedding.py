"""Embedding of rows: finding missing vectors, and calling and checking the embedder.

Pure except for the call of the embedder. Reuse of existing vectors (of the committed graph or of the same load) is up
to ``write.vectors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.ports import Embedder, EmbeddingRole
from omnigraph.errors import EmbeddingError, OmnigraphError
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.schema.ir import Embed, NodeIR, PropertyIR

Positions = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]
"""One row per vector."""


@dataclass(frozen=True, slots=True)
class EmbeddedProperty:
    """A vector property with ``@embed``."""

    name: str
    embed: Embed
    dimension: int
    nullable: bool


def embedded_properties(entity: Entity) -> list[EmbeddedProperty]:
    """The ``@embed`` properties of a type, by name."""
    found = []
    for name, prop in sorted(entity.properties.items()):
        if prop.embed is not None:
            assert prop.type.dimension is not None, "a vector has a dimension"
            found.append(EmbeddedProperty(name, prop.embed, prop.type.dimension, prop.type.nullable))
    return found


def without_required_vectors(catalog: Catalog) -> Catalog:
    """The catalog with every ``@embed`` property nullable, for reading rows before their vectors are computed."""
    return Catalog(replace(catalog.schema, nodes=tuple(_relaxed(node) for node in catalog.schema.nodes)))


def _relaxed(node: NodeIR) -> NodeIR:
    return replace(node, properties=tuple(_optional(prop) if prop.embed else prop for prop in node.properties))


def _optional(prop: PropertyIR) -> PropertyIR:
    return replace(prop, type=replace(prop.type, nullable=True))


@dataclass(frozen=True, slots=True)
class Gaps:
    """The rows of a batch without a vector: ``rows`` have a text to embed, ``hopeless`` have none."""

    rows: Positions
    texts: pa.Array
    hopeless: Positions


def find_gaps(batch: pa.RecordBatch, prop: EmbeddedProperty, is_made: pa.Array | None = None) -> Gaps:
    """Find the rows to embed. Rows with blank text, or with a false ``is_made``, get no vector."""
    texts = batch.column(prop.embed.source)
    has_text = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(texts), ""), False)
    has_hope = has_text if is_made is None else pc.and_(has_text, is_made)
    is_missing = pc.is_null(batch.column(prop.name))
    rows = pc.indices_nonzero(pc.and_(is_missing, has_hope))
    hopeless = pc.indices_nonzero(pc.and_not(is_missing, has_hope))
    return Gaps(_positions(rows), texts.take(rows), _positions(hopeless))


def _positions(array: pa.Array) -> Positions:
    found: Positions = array.to_numpy().astype(np.int64)
    return found


def with_vectors(batch: pa.RecordBatch, name: str, rows: Positions, vectors: Vectors) -> pa.RecordBatch:
    """The batch with vectors filled in at ``rows``, which had none."""
    index = batch.schema.get_field_index(name)
    column = batch.column(index)
    values = np.zeros((len(column), vectors.shape[1]), np.float32)
    is_null = pc.is_null(column).to_numpy(zero_copy_only=False).copy()
    values[~is_null] = column.flatten().to_numpy().reshape(-1, vectors.shape[1])
    values[rows] = vectors
    is_null[rows] = False
    filled = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), type=column.type, mask=pa.array(is_null))
    return batch.set_column(index, batch.schema.field(index), filled)


def check_model(node: NodeType, name: str, embedder: Embedder) -> None:
    """Refuse an embedder whose model differs from the declared model of the property."""
    declared = node.properties[name].embed
    if declared is None or declared.model is None or declared.model == embedder.model:
        return
    raise EmbeddingError(
        f"the vectors of {node.name}.{name} are by model {declared.model!r}, the embedder is {embedder.model!r}",
        hint="vectors of different models cannot be compared: OMNIGRAPH_EMBED_MODEL sets the model",
        declared=declared.model,
        configured=embedder.model,
    )


def call_embedder(embedder: Embedder, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Vectors:
    """Call the embedder and validate its result, because users can supply their own embedder."""
    try:
        found = embedder.embed(texts, dimension, role)
    except OmnigraphError:
        raise
    except Exception as error:
        raise EmbeddingError(
            f"the embedder failed: {type(error).__name__}: {error}", hint="nothing was changed", texts=len(texts)
        ) from error
    if len(found) != len(texts):
        raise EmbeddingError(f"the embedder gave {len(found)} vectors for {len(texts)} texts")
    try:
        with np.errstate(over="ignore"):
            vectors = np.array([[float(number) for number in vector] for vector in found], np.float64).astype(
                np.float32
            )
    except (TypeError, ValueError, OverflowError):
        vectors = np.zeros((0, 0), np.float32)
    if vectors.shape != (len(texts), dimension) or not np.isfinite(vectors).all():
        raise EmbeddingError(f"the embedder gave no vector of {dimension} finite numbers")
    return vectors
