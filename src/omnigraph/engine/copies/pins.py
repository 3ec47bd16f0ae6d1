"""The pins of a copy: all branches of a graph at one moment, and every file that they need.

Writers and cleanup continue meanwhile. Files never change, so pins that were taken once stay complete; only cleanup can
delete a file of a commit that it gave up since. Then the copy takes the pins again, and keeps what it has copied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import FileRecord
from omnigraph.errors import ContentionError, CorruptionError, NotFoundError
from omnigraph.history.retention import Log
from omnigraph.history.state import ManifestState
from omnigraph.manifest.layout import MAIN, MAIN_MANIFEST, ref_path
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.records import record_paths
from omnigraph.manifest.refs import Damaged, Ref, stored_refs
from omnigraph.storage.objects.protocol import Listed
from omnigraph.storage.objects.version_names import version_of
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.sweep import Needs, needed_files
from omnigraph.write import limits
from omnigraph.write.upkeep.reachable import View, collect_needs, look

SCHEMAS = "schemas"

PINS_ATTEMPTS_MAX = 20
"""Looks at the branches while others rename them, or cleanups delete; both are rare and short."""


@dataclass(frozen=True)
class Pins:
    """All branches at one moment. ``files`` are immutable; ``versions`` name the states of manifests."""

    heads: Mapping[str, ManifestState]
    """By incarnation."""
    refs: Mapping[str, Ref]
    """Valid refs by path; ``main`` has none."""
    records: Mapping[str, bytes]
    """Records of cleanup by path, oldest first."""
    files: tuple[FileRecord, ...]
    versions: tuple[FileRecord, ...]
    """Manifest versions, newest first: a reader of an incomplete copy never finds one before a newer one."""

    @property
    def branches(self) -> dict[str, str]:
        """The head commit of every branch, ``main`` first."""
        found = sorted((state.branch, state.head) for state in self.heads.values())
        return dict(sorted(found, key=lambda item: item[0] != MAIN))


def take_pins(manifests: Manifests) -> Pins:
    """Pin all branches. A change of a name, or a deletion by cleanup, restarts the look; damage is an error.

    Cleanup deletes a file between the look at a branch and the look at its files if the branch has moved since. The
    next look no longer needs that file: one that is missing twice is damage.
    """
    failures: set[str] = set()
    for _ in range(PINS_ATTEMPTS_MAX):
        try:
            return _look(manifests)
        except _Moved:
            continue
        except (CorruptionError, NotFoundError) as error:
            if error.message in failures:
                raise damaged(error) from error
            failures.add(error.message)
    raise ContentionError("branches are renamed or cleaned up faster than they can be listed", hint="try again")


class _Moved(NotFoundError):
    """A branch was renamed between two reads."""


def _look(manifests: Manifests) -> Pins:
    store = manifests.store
    refs = stored_refs(store)
    record = manifests.record()
    view = look(manifests, ())
    for damage in view.undecided:
        raise CorruptionError(f"{damage.path} {damage.what}", path=damage.path)
    # Branches without a name are garbage. States that merges need of them are found through the log.
    view = replace(view, unnamed={}, unnamed_logs={}, unread=())
    needs, lost = collect_needs(manifests, view, record, limits.GRACE_US, (), mirrored=False)
    for damage in lost:
        raise CorruptionError(f"{damage.path} {damage.what}", path=damage.path)
    recorded = recorded_files(view.logs.values(), view.heads.values())
    used = [item for item in needs if item.versions]
    with ThreadPoolExecutor(limits.CLEANUP_THREADS) as pool:
        listed = [file for files in pool.map(lambda item: _pinned(store, item), used) for file in files]
    listed += [file for file in store.objects.walk(SCHEMAS) if file.path.endswith((".json", ".pg"))]
    files = with_records(listed, recorded)
    return Pins(
        view.heads,
        _valid(refs, view),
        {path: content for path in reversed(record_paths(store)) if (content := store.objects.read(path)) is not None},
        tuple(file for file in files if not is_version(file.path)),
        tuple(sorted((file for file in files if is_version(file.path)), key=_newest_first)),
    )


def _pinned(store: Store, needs: Needs) -> list[Listed]:
    """The files of a dataset without manifest versions that were published since the look."""
    newest = max(needs.versions)
    files = needed_files(store, needs)
    return [file for file in files if not is_version(file.path) or (version_of(file.path) or 0) <= newest]


def is_version(path: str) -> bool:
    """True for a version of a branch's manifest: the name that publishes a state."""
    return f"{MAIN_MANIFEST}/_versions/" in path


def _newest_first(file: FileRecord) -> tuple[str, int]:
    return file.path.rpartition("/")[0], -(version_of(file.path) or 0)


def recorded_files(logs: Iterable[Log], states: Iterable[ManifestState]) -> dict[str, FileRecord]:
    """The sizes and checksums that commits and states have recorded, by path."""
    found = {record.path: record for log in logs for commit in log for record in commit.files}
    return found | {record.path: record for state in states for record in state.previous}


def with_records(listed: Iterable[Listed], recorded: Mapping[str, FileRecord]) -> list[FileRecord]:
    """The records of files, or their present sizes where nothing was recorded."""
    return [recorded.get(file.path) or FileRecord(file.path, file.size) for file in listed]


def _valid(refs: Collection[Ref | Damaged], view: View) -> dict[str, Ref]:
    """The refs of the branches. They were read before the manifests: ``_Moved`` if one was renamed in between."""
    names = {incarnation: state.branch for incarnation, state in view.heads.items() if state.branch != MAIN}
    valid = [ref for ref in refs if isinstance(ref, Ref) and names.get(ref.incarnation) == ref.name]
    for incarnation, name in names.items():
        if incarnation not in {ref.incarnation for ref in valid}:
            raise _Moved(f"{ref_path(name)} is missing", path=ref_path(name))
    return {ref_path(ref.name): ref for ref in valid}


def damaged(error: CorruptionError | NotFoundError) -> CorruptionError:
    """The error for a graph that cannot be copied because a file is missing or damaged."""
    message = f"the graph cannot be copied: {error.message}"
    return CorruptionError(message, hint=verify_hint("lists the damage"), **error.facts)
