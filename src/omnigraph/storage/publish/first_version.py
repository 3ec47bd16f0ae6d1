"""The first version of a dataset, which Lance creates with a conditional PUT and does not retry."""

from __future__ import annotations

import time
from typing import Any

from lance import LanceDataset

from omnigraph.storage.objects.failures import foreign
from omnigraph.storage.objects.protocol import create_backoff_seconds
from omnigraph.storage.tables.store import Store


def commit_first(store: Store, location: str, operation: Any, **options: Any) -> LanceDataset:
    """Commit to a dataset that does not exist; if it exists by then, the exception of Lance is passed on.

    A bucket answers 409 to concurrent conditional requests for one path, and may keep neither. Lance reports this as
    "exists already", so the commit is retried as long as no dataset exists.
    """
    uri = store.root.table_uri(location)
    attempts_max = store.root.capabilities.create_attempts_max
    for attempt in range(attempts_max):
        try:
            return LanceDataset.commit(uri, operation, storage_options=store.lance_options, **options)
        except foreign():
            if attempt == attempts_max - 1 or store.open_latest(location) is not None:
                raise
            time.sleep(create_backoff_seconds(attempt))
    raise AssertionError("the last attempt returns or raises")
