"""Taking back what was written and never published. What a published version refers to is never deleted here."""

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
    """Delete a version that nobody will name, but not its data files: other versions may have them too.

    Its deletion files must be its own: it was made of new fragments, or of a version of new fragments.
    """
    dataset = store.open(staged.location, staged.version)
    for fragment in dataset.get_fragments():
        deletion = fragment.metadata.deletion_file
        if deletion is not None:
            store.objects.delete(f"{staged.location}/{deletion.path(fragment.fragment_id)}")
    store.objects.delete(manifest_file(staged.location, staged.version))
