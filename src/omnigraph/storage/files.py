"""Which files a pinned version needs."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.core.tables import TablePin
from omnigraph.storage.blob_files import has_blobs
from omnigraph.storage.indexes import segment_ids
from omnigraph.storage.store import Store

DETACHED_BIT = 1 << 63
"""Numbers of detached versions have the highest bit set; ordinary ones count from 1."""


def manifest_file(location: str, version: int) -> str:
    """The manifest of a version, detached or ordinary."""
    name = f"d{version}" if version & DETACHED_BIT else f"{2**64 - 1 - version:020d}"
    return f"{location}/_versions/{name}.manifest"


def version_files(store: Store, pin: TablePin) -> Iterator[str]:
    """The manifest, data, blob, deletion and index files of a version."""
    yield manifest_file(pin.location, pin.lance_version)
    dataset = store.open(pin.location, pin.lance_version)
    yield from _index_files(store, pin.location, segment_ids(dataset))
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        for file in metadata.files:
            path = f"{pin.location}/data/{file.path}"
            yield path
            if has_blobs(dataset.schema):
                yield from (blob_path for blob_path, _ in store.blob_files.of(path))
        if metadata.deletion_file is not None:
            yield f"{pin.location}/{metadata.deletion_file.path(metadata.id)}"


def _index_files(store: Store, location: str, segments: frozenset[str]) -> Iterator[str]:
    """A version names its segments and not their files: those are what lies in the directories of the segments."""
    if segments:
        directory = f"{location}/_indices/"
        listed = (path for path, _ in store.objects.list(directory))
        yield from (path for path in listed if path.removeprefix(directory).split("/", 1)[0] in segments)
