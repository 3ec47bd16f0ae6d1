"""Uncommitted fragments as JSON: everything that another process needs to commit them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lance.fragment import FragmentMetadata

from omnigraph.core.tables import FileRecord
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.storage.tables.store import Store


def rows_to_json(written: WrittenRows) -> dict[str, Any]:
    """The description, made of plain JSON values."""
    return {
        "location": written.location,
        "fragments": [fragment.to_json() for fragment in written.fragments],
        "rows": written.rows,
        "files": [[record.path, record.size, record.checksum] for record in written.files],
        "columns": sorted(written.columns),
    }


def rows_from_json(described: Mapping[str, Any]) -> WrittenRows:
    """The rows of a description. Their files may be missing; see ``is_there``."""
    fragments = tuple(FragmentMetadata.from_json(json.dumps(fragment)) for fragment in described["fragments"])
    files = tuple(FileRecord(*file) for file in described["files"])
    columns = frozenset((name, number) for name, number in described["columns"])
    return WrittenRows(described["location"], fragments, described["rows"], files, columns=columns)


def is_there(store: Store, written: WrittenRows) -> bool:
    """True if every file of the rows exists with its recorded size."""
    return all(store.objects.size(record.path) == record.size for record in written.files)
