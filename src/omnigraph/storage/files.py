"""The files that a pinned version refers to."""

from __future__ import annotations

from collections.abc import Iterator

from lance import LanceDataset

from omnigraph.core.tables import TablePin
from omnigraph.storage.index.indexes import segment_ids
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.tables.blob_files import has_blobs
from omnigraph.storage.tables.store import Store


class SegmentFiles:
    """The files of index segments, found by listing.

    A version names its segments, not their files. The segments of a table are listed together and cached, so every
    version that is looked up must exist before the first lookup.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._listed: dict[str, dict[str, list[str]]] = {}

    def of(self, location: str, segments: frozenset[str]) -> Iterator[str]:
        """The files of some segments of a table."""
        if segments and location not in self._listed:
            self._listed[location] = self._list(f"{location}/_indices/")
        for segment in segments:
            yield from self._listed[location].get(segment, ())

    def _list(self, directory: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path, _ in self._store.objects.list(directory):
            found.setdefault(path.removeprefix(directory).split("/", 1)[0], []).append(path)
        return found


def version_files(store: Store, pin: TablePin, segments: SegmentFiles) -> Iterator[str]:
    """The manifest, data, blob, deletion and index files of a version; of an external table, its seal."""
    yield manifest_file(pin.location, pin.lance_version)
    if pin.is_external:
        return
    yield from dataset_files(store, pin.location, store.open(pin.location, pin.lance_version), segments)


def dataset_files(store: Store, location: str, dataset: LanceDataset, segments: SegmentFiles) -> Iterator[str]:
    """The same for an open version, without its manifest."""
    with translated(f"version {dataset.version} of {location} cannot be read", location=location):
        named = segment_ids(dataset)
        fragments = [fragment.metadata for fragment in dataset.get_fragments()]
    yield from segments.of(location, named)
    for metadata in fragments:
        for file in metadata.files:
            path = f"{location}/data/{file.path}"
            yield path
            if has_blobs(dataset.schema):
                yield from (blob_path for blob_path, _ in store.blob_files.of(path))
        if metadata.deletion_file is not None:
            yield f"{location}/{metadata.deletion_file.path(metadata.id)}"
