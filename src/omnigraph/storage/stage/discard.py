"""Deleting staged files that will not be published. Files of published versions are never deleted here."""

from __future__ import annotations

from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.stage.staging import StagedVersion, WrittenRows
from omnigraph.storage.tables.store import Store


def discard_rows(store: Store, written: WrittenRows) -> None:
    """Delete the files of rows that no version refers to."""
    for fragment in written.fragments:
        for file in fragment.files:
            path = f"{written.location}/data/{file.path}"
            for blob_path, _ in store.blob_files.of(path):
                store.objects.delete(blob_path)
            store.objects.delete(path)


def discard_version(store: Store, staged: StagedVersion) -> None:
    """Delete a version that will never be published, but not its data files: other versions may share them.

    Precondition: its deletion files are its own, because it was made of new fragments, or of a version of such.
    """
    dataset = store.open(staged.location, staged.version)
    for fragment in dataset.get_fragments():
        deletion = fragment.metadata.deletion_file
        if deletion is not None:
            store.objects.delete(f"{staged.location}/{deletion.path(fragment.fragment_id)}")
    store.objects.delete(manifest_file(staged.location, staged.version))
