"""Block keys of records: 64-bit hashes of texts. Records that share a key are candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.analytics.hashing import shares
from omnigraph.exec.id_map import hashes
from omnigraph.exec.resolve.items import Items, Positions, ramps, text_items
from omnigraph.exec.resolve.rules import LSH_TABLES, BlockFunction, BlockPart, Normalize, ResolveRules
from omnigraph.exec.resolve.texts import soundex, tokens
from omnigraph.rows.arrow_types import ID, table_schema
from omnigraph.schema.catalog import NodeType

Hashes = npt.NDArray[np.uint64]

_SEPARATOR: Final = "\x1f"
"""Between the parts of a key: a control character that no normalised text holds."""


@dataclass(frozen=True)
class RecordKeys:
    """The keys of every record, ascending and distinct: those of record n are ``hashes[offsets[n]:offsets[n + 1]]``."""

    offsets: Positions
    hashes: Hashes

    @property
    def owners(self) -> Positions:
        """The record of every key."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def without(self, skipped: Hashes) -> RecordKeys:
        """The keys that are compared."""
        if not len(skipped):
            return self
        is_kept = ~np.isin(self.hashes, skipped)
        kept_before = np.concatenate(([0], np.cumsum(is_kept)))
        return RecordKeys(kept_before[self.offsets], self.hashes[is_kept])


@dataclass(frozen=True)
class KeyTexts:
    """Keys as texts, and the record of each."""

    owners: Positions
    texts: pa.Array


def record_keys(records: pa.Table, node: NodeType, rules: ResolveRules) -> RecordKeys:
    """The keys of records. Without blocks, all records share one key."""
    found = [key_texts_of(records, node, number, block) for number, block in enumerate(rules.blocks)]
    if not rules.blocks:
        found = [KeyTexts(np.arange(records.num_rows), pa.array(["*"] * records.num_rows, pa.string()))]
    owners = np.concatenate([keys.owners for keys in found])
    hashed = np.concatenate([hashes(keys.texts) for keys in found])
    order = np.lexsort((hashed, owners))
    owners, hashed = owners[order], hashed[order]
    is_first = np.ones(len(owners), bool)
    is_first[1:] = (owners[1:] != owners[:-1]) | (hashed[1:] != hashed[:-1])
    counts = np.bincount(owners[is_first], minlength=records.num_rows)
    return RecordKeys(np.concatenate(([0], np.cumsum(counts))), hashed[is_first])


def named_keys(records: pa.Table, node: NodeType, rules: ResolveRules, wanted: Hashes) -> dict[int, str]:
    """Keys by hash as a remark shows them: ``email = 'n/a'``."""
    found: dict[int, str] = {}
    for number, block in enumerate(rules.blocks):
        keys = key_texts_of(records, node, number, block)
        hashed = hashes(keys.texts)
        for place in np.flatnonzero(np.isin(hashed, wanted)):
            if int(hashed[place]) not in found:
                values = keys.texts[place].as_py().split(_SEPARATOR)[1:]
                shown = (f"{part} = {value!r}" for part, value in zip(block, values, strict=True))
                found[int(hashed[place])] = ", ".join(shown)
    return found


def key_texts_of(records: pa.Table, node: NodeType, number: int, block: Sequence[BlockPart]) -> KeyTexts:
    """The keys of one block as texts. A record without a value for one of the parts has none."""
    owners = np.arange(records.num_rows)
    texts = pa.array([str(number)] * records.num_rows, pa.string())
    for part in block:
        items = _part_items(records, node, part)
        # Every key so far is continued by each of the record's items.
        kept, within = ramps(items.counts[owners])
        values = items.values.take(pa.array(items.offsets[owners[kept]] + within))
        texts = pc.binary_join_element_wise(texts.take(pa.array(kept)), values, _SEPARATOR)
        owners = owners[kept]
    return KeyTexts(owners, texts)


def _part_items(records: pa.Table, node: NodeType, part: BlockPart) -> Items:
    """The items of a part as texts."""
    type_ = node.properties[part.property].type
    column = records.column(part.property).combine_chunks()
    match part.function:
        case BlockFunction.VALUE:
            return text_items(column, type_, Normalize.TEXT)
        case BlockFunction.PREFIX:
            items = text_items(column, type_, Normalize.TEXT)
            return items.replaced(pc.utf8_slice_codeunits(items.values, 0, int(part.number or 1)))
        case BlockFunction.SOUNDEX:
            items = text_items(column, type_, Normalize.TEXT)
            return items.replaced(_mapped(items.values, {text: soundex(text) for text in _distinct(items.values)}))
        case BlockFunction.TOKENS:
            return _token_items(text_items(column, type_, Normalize.TEXT))
        case BlockFunction.YEAR:
            return Items.of(pc.year(column).cast(pa.string()), is_list=False)
        case BlockFunction.NEAR:
            return _near_items(Items.of(column.cast(pa.float64()), is_list=False), part.number or 1.0)
        case BlockFunction.LSH:
            return _lsh_items(column, int(part.number or 1))


def _distinct(values: pa.Array) -> list[str]:
    found: list[str] = pc.unique(values).to_pylist()
    return found


def _mapped(values: pa.Array, made: Mapping[str, str | None]) -> pa.Array:
    encoded = values.dictionary_encode()
    return pa.array([made[text] for text in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def _token_items(items: Items) -> Items:
    """An item for each word."""
    words = {text: sorted(tokens(text)) for text in _distinct(items.values)}
    lists = [words[text] for text in items.values.to_pylist()]
    inner = np.concatenate(([0], np.cumsum([len(found) for found in lists]))).astype(np.int64)
    return Items(inner[items.offsets], pa.array([word for found in lists for word in found], pa.string()))


def _near_items(items: Items, width: float) -> Items:
    """Two items for a number: its bin, and that of bins moved by half a width. Numbers half a width apart share one."""
    values = items.values.to_numpy()
    is_finite = np.isfinite(values)
    scaled = np.where(is_finite, values, 0.0) / width
    pairs = np.stack((np.floor(scaled), np.floor(scaled + 0.5)), axis=1).ravel()
    texts = [f"{'ab'[place % 2]}{number:.0f}" for place, number in enumerate(pairs.tolist())]
    found = pa.array([text if is_finite[place // 2] else None for place, text in enumerate(texts)], pa.string())
    return Items(items.offsets * 2, found).without_nulls()


def _lsh_items(column: pa.Array, bits: int) -> Items:
    """Items for a vector: on which side of random hyperplanes it lies, for each of some sets of planes."""
    items = Items.of(column, is_list=False)
    dimension = column.type.list_size
    vectors = items.values.flatten().to_numpy(zero_copy_only=False).reshape(-1, dimension).astype(np.float64)
    texts: list[str] = []
    numbers = np.arange(dimension)
    for table in range(LSH_TABLES):
        planes = np.stack([shares(table, bit, numbers) - 0.5 for bit in range(bits)])
        # einsum adds in one order for any number of rows; a product of matrices does not.
        sides = np.einsum("nd,bd->nb", vectors, planes, optimize=False) > 0
        weights = np.left_shift(np.uint64(1), np.arange(bits, dtype=np.uint64))
        texts += [f"{table}:{int(number):x}" for number in (sides * weights).sum(axis=1, dtype=np.uint64)]
    interleaved = np.arange(len(texts)).reshape(LSH_TABLES, -1).T.ravel()
    return Items(items.offsets * LSH_TABLES, pa.array(texts, pa.string()).take(pa.array(interleaved)))


def record_columns(rules: ResolveRules) -> list[str]:
    """The columns of a record."""
    return [ID, *(name for name in rules.properties if name != ID)]


def records_of(batches: Iterable[pa.RecordBatch], node: NodeType, rules: ResolveRules) -> pa.Table:
    """Rows of a node table as records."""
    stored = table_schema(node)
    names = record_columns(rules)
    schema = pa.schema([stored.field(name).remove_metadata().with_nullable(True) for name in names])
    return pa.Table.from_batches([batch.select(names).cast(schema) for batch in batches], schema)
