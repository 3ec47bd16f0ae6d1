"""Check of files written before a fence: they may be published only if no cleanup can have deleted them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor

from omnigraph.errors import Hint, WriteExpired
from omnigraph.history.state import Fence
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.storage.tables.store import Store
from omnigraph.write import limits


def check_files_kept(
    store: Store, written: Iterable[WrittenRows], fence: Fence, noted: Collection[str] = frozenset()
) -> None:
    """Raise WriteExpired if cleanup may have deleted a file; ``noted`` are files that the journal of a job protects."""
    paths = (record.path for rows in written for record in rows.files if record.path not in noted)
    check_paths_kept(store, paths, fence, "load", "load again")


def check_paths_kept(store: Store, paths: Iterable[str], fence: Fence, what: str, again: str) -> None:
    """The same for the paths of a write; ``what`` and ``again`` name it, and the next step of its caller.

    Cleanup and this check compare the same timestamps of the store, so the clocks of writers do not matter.
    """
    files = list(paths)
    with ThreadPoolExecutor(limits.CLEANUP_THREADS) as pool:
        times = list(pool.map(store.objects.modified_us, files))
    old = [path for path, time_us in zip(files, times, strict=True) if time_us is None or time_us < fence.cutoff_us]
    if old:
        raise WriteExpired(
            f"cleanup may have deleted {len(old):,} of the {len(files):,} files of this {what}: "
            f"it took longer than the grace period",
            hint=Hint(
                f"{again}, or call graph.cleanup with a longer grace=",
                f"{again}, or run omnigraph cleanup with a longer --grace",
            ),
            files=len(old),
        )
