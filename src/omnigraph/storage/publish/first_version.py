"""The first version of a dataset, which Lance makes with a conditional PUT and without trying again."""

from __future__ import annotations

import random
import time
from typing import Any

from lance import LanceDataset

from omnigraph.storage.objects.failures import foreign
from omnigraph.storage.objects.s3 import CREATE_ATTEMPTS_MAX, CREATE_BACKOFF_SECONDS
from omnigraph.storage.tables.store import Store


def commit_first(store: Store, location: str, operation: Any, **options: Any) -> LanceDataset:
    """Commit to a dataset that does not exist; raises what Lance raises if it does by then.

    A bucket answers 409 when it sees two conditional requests for a path at once, and may keep neither. Lance calls
    this "exists already", so the commit is tried again while there is nothing.
    """
    uri = store.root.table_uri(location)
    for attempt in range(CREATE_ATTEMPTS_MAX):
        try:
            return LanceDataset.commit(uri, operation, storage_options=store.lance_options, **options)
        except foreign():
            is_last = store.root.is_local or attempt == CREATE_ATTEMPTS_MAX - 1
            if is_last or store.open_latest(location) is not None:
                raise
            time.sleep(random.uniform(0, 2**attempt) * CREATE_BACKOFF_SECONDS)
    raise AssertionError("the last attempt returns or raises")
