"""Vectors as arrays of this process, for steps in memory and for a cluster whose vectors fit into its driver."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.exec.analytics.steps import State
from omnigraph.exec.analytics.vectors import Array, Made, Span, SpanWork


class ArrayVectors:
    """The operations of ``Steps`` that concern vectors alone."""

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        raise NotImplementedError

    @property
    def whole(self) -> Span:
        """All nodes."""
        return Span(0, self.nodes, self.nodes)

    def apply(self, work: SpanWork, *vectors: Array, **numbers: Any) -> Made:
        return work(self.whole, *vectors, **numbers)

    def look_up(self, values: Array, at: Array) -> Array:
        found: Array = values[at]
        return found

    def scatter(self, combine: np.ufunc, into: Array, at: Array, values: Array) -> Array:
        combined = into.copy()
        named = at >= 0
        combine.at(combined, at[named], values[named])
        return combined

    def column(self, values: Array, known: Array | None = None) -> pa.Array:
        return pa.array(values, mask=None if known is None else ~known)

    def pack(self, state: State) -> bytes:
        packed = io.BytesIO()
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in state.items()}
        np.savez(packed, **arrays)
        return packed.getvalue()

    def unpack(self, content: bytes, like: State) -> State:
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
        except (EOFError, OSError, zipfile.BadZipFile) as error:
            raise ValueError(str(error)) from error
        if _kinds(found) != _kinds({name: np.asarray(value) for name, value in like.items()}):
            raise ValueError("its content belongs to another analysis")
        return found


def _kinds(state: State) -> dict[str, Any]:
    return {name: (value.dtype, value.shape) for name, value in state.items()}
