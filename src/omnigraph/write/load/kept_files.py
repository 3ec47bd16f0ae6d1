"""Check of files written before a fence: they may be published only if no cleanup can have deleted them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor

from omnigraph.errors import WriteExpired
from omnigraph.history.state import Fence
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.storage.tables.store import Store
from omnigraph.write import limits


def check_files_kept(
    store: Store, written: Iterable[WrittenRows], fence: Fence, noted: Collection[str] = frozenset()
) -> None:
    """Raise WriteExpired if cleanup may have deleted a file; ``noted`` are files that the journal of a job protects.

    Cleanup and this check compare the same timestamps of the store, so the clocks of writers do not matter.
    """
    paths = [record.path for rows in written for record in rows.files if record.path not in noted]
    with ThreadPoolExecutor(limits.CLEANUP_THREADS) as pool:
        times = list(pool.map(store.objects.modified_us, paths))
    old = [path for path, time_us in zip(paths, times, strict=True) if time_us is None or time_us < fence.cutoff_us]
    if old:
        raise WriteExpired(
            f"cleanup may have deleted {len(old):,} of the {len(paths):,} files of this load: it took longer than the "
            f"grace period",
            hint="load again, or run cleanup with a longer --grace",
            files=len(old),
        )
