"""Taking back what was written and never staged. What a version refers to is never deleted here."""

from __future__ import annotations

from omnigraph.storage.staging import WrittenRows
from omnigraph.storage.store import Store


def discard_rows(store: Store, written: WrittenRows) -> None:
    """Delete the files of rows that no version refers to."""
    for fragment in written.fragments:
        for file in fragment.files:
            path = f"{written.location}/data/{file.path}"
            # Large blobs lie in files of their own, in a directory named like the data file.
            for sidecar, _ in list(store.objects.list(f"{path.removesuffix('.lance')}/")):
                store.objects.delete(sidecar)
            store.objects.delete(path)
