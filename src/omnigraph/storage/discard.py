"""Taking back what was written and never staged. What a version refers to is never deleted here."""

from __future__ import annotations

from omnigraph.storage.staging import WrittenRows
from omnigraph.storage.store import Store


def discard_rows(store: Store, written: WrittenRows) -> None:
    """Delete the files of rows that no version refers to."""
    for fragment in written.fragments:
        for file in fragment.files:
            path = f"{written.location}/data/{file.path}"
            for blob_path, _ in store.blob_files.of(path):
                store.objects.delete(blob_path)
            store.objects.delete(path)
