"""Fragments that were written and belong to no version yet, as JSON: what another process needs to commit them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lance.fragment import FragmentMetadata

from omnigraph.core.tables import FileRecord
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.storage.tables.store import Store


def rows_to_json(written: WrittenRows) -> dict[str, Any]:
    """The description, of plain values only."""
    return {
        "location": written.location,
        "fragments": [fragment.to_json() for fragment in written.fragments],
        "rows": written.rows,
        "files": [[record.path, record.size, record.checksum] for record in written.files],
        "columns": sorted(written.columns),
    }


def rows_from_json(said: Mapping[str, Any]) -> WrittenRows:
    """The rows that a description tells of. Whether their files are there is another question."""
    fragments = tuple(FragmentMetadata.from_json(json.dumps(fragment)) for fragment in said["fragments"])
    files = tuple(FileRecord(*file) for file in said["files"])
    columns = frozenset((name, number) for name, number in said["columns"])
    return WrittenRows(said["location"], fragments, said["rows"], files, columns=columns)


def is_there(store: Store, written: WrittenRows) -> bool:
    """Whether every file of the rows exists in full."""
    return all(store.objects.size(record.path) == record.size for record in written.files)
