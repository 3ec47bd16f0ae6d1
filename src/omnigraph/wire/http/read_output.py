"""The answer of a read over HTTP: the body of Omnigraph 0.10 as JSON text, made chunk by chunk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from omnigraph.wire.http.explore import row_entities_json
from omnigraph.wire.http.row_texts import few_rows, row_texts

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode

if TYPE_CHECKING:
    from omnigraph.engine.query.result import QueryResult
    from omnigraph.engine.query.row_entities import RowEntities


def read_output_chunks(
    result: QueryResult,
    *,
    branch: str | None,
    snapshot: str | None,
    with_commit: bool = True,
    entities: RowEntities | None = None,
) -> Iterator[bytes]:
    """The rows in their envelope. ``branch`` or ``snapshot`` is the target that the request named.

    Rows that are computed on demand are computed here: an error may be raised after the first chunk.
    """
    head: dict[str, Any] = {
        "query_name": result.query_name,
        "target": target_json(branch, snapshot),
        "row_count": len(result),
        **({"columns": result.columns} if result.columns else {}),
    }
    tail: dict[str, Any] = {"graph_commit_id": result.commit_id} if with_commit and result.commit_id else {}
    if entities is not None:
        tail["entities"] = row_entities_json(entities)
    values = result.stored_values
    few = None if values is None else few_rows(result.schema, values)
    if few is not None:
        yield _encode({**head, "rows": few, **tail}).encode()
        return
    yield f'{_encode(head)[:-1]},"rows":['.encode()
    yield from row_texts(result.batches())
    yield (f"],{_encode(tail)[1:]}" if tail else "]}").encode()


def target_json(branch: str | None, snapshot: str | None) -> dict[str, Any]:
    """The branch or commit that a request named; the other one is null."""
    return {"branch": branch, "snapshot": snapshot}
