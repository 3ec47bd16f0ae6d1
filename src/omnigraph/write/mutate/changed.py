"""Rows of a mutation that differ from the committed ones: setting a value that a property has already is no change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.rows.validate import TableDelta
from omnigraph.storage.tables.store import Store
from omnigraph.write.images import find_images, image_schema, images_at, without_unchanged

Row = dict[str, Any]


def without_same(
    store: Store, pin: TablePin, delta: TableDelta, seen: Mapping[str, Row], *, is_append: bool
) -> TableDelta:
    """The delta without rows that equal their committed images.

    ``seen`` are committed rows that the mutation has read. Other ids are looked up, unless all of them are new.
    """
    ids = delta.ids()
    known = [place for place, id_ in enumerate(ids) if id_ in seen]
    before = pa.Table.from_pylist([seen[ids[place]] for place in known], schema=image_schema(delta.entity))
    images = images_at(known, before)
    others = [] if is_append else [place for place, id_ in enumerate(ids) if id_ not in seen]
    if others:
        found = find_images(store, pin, delta.entity, [ids[place] for place in others])
        images = images.joined(found.moved(others))
    return replace(delta, rows=without_unchanged(delta.rows, images))
