"""Quarantine of damaged files: ``aside/<original path>.<id>`` below the root, from where they can be restored."""

from __future__ import annotations

import os

from omnigraph.errors import CorruptionError
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.publish.newest import ASIDE
from omnigraph.storage.tables.store import Store


def set_aside(store: Store, path: str, id_: str) -> str:
    """Move a file out of the graph and return its new path. Nothing is deleted."""
    target = f"{ASIDE}/{path}.{id_}"
    if store.root.capabilities.renames:
        # A file that cannot be read can still be renamed.
        with translated(f"{path} could not be set aside", path=path):
            os.makedirs(os.path.dirname(store.root.local(target)), exist_ok=True)
            os.rename(store.root.local(path), store.root.local(target))
        return target
    content = store.objects.read(path)
    if content is None or not store.objects.create(target, content):
        raise CorruptionError(f"{path} could not be set aside: it is missing, or {target} exists", path=path)
    store.objects.delete(path)
    return target
