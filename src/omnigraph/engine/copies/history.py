"""Copying a whole graph: every branch, commit and version, byte by byte, while others write.

The order keeps every reader of the target consistent. Immutable files come first, then the versions of manifests, which
publish the states of branches, then refs, and the stamp of a new graph last. So a reader finds no graph or a whole one;
during a later run it finds each branch at the old or at the new head.

A run copies only files that the target lacks, so a repeated run copies the difference, and one that was killed is
continued.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from omnigraph.core.tables import FileRecord
from omnigraph.engine.copies.fill import Copied, Progress, fill
from omnigraph.engine.copies.pins import Pins, take_pins
from omnigraph.errors import AlreadyExistsError, ContentionError, NotFoundError
from omnigraph.history.state import ManifestState
from omnigraph.manifest import copied
from omnigraph.manifest.layout import STAMP_PATH, ref_path
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Ref, mark_path, marks, stored_refs
from omnigraph.storage.objects.version_names import manifest_file, version_of
from omnigraph.storage.publish.published import newest_mark, renew_mark
from omnigraph.storage.tables.store import Store

COPY_ATTEMPTS_MAX = 20
"""Times that the pins are taken while cleanups delete files of commits that they gave up."""


@dataclass
class HistoryCopy:
    """One run of a copy from a graph to another place."""

    manifests: Manifests
    target: Store
    progress: Progress | None = None
    copied: Copied = field(default_factory=Copied)

    def run(self) -> Pins:
        """Copy until all files of one set of pins are in the target, then publish them."""
        for _ in range(COPY_ATTEMPTS_MAX):
            pins = take_pins(self.manifests)
            try:
                self._check_not_ahead(pins)
                present = fill(self.manifests.store, self.target, pins.files, self.copied, self.progress)
                self._publish(pins, present)
            except NotFoundError:
                # A cleanup has deleted a file since the look. The next look knows which commits are left.
                continue
            return pins
        raise ContentionError("cleanup deleted files faster than they were copied", hint="copy again after the cleanup")

    def _check_not_ahead(self, pins: Pins) -> None:
        """Refuse a target that was written to: its versions would be mixed with those of the source."""
        for incarnation, state in pins.heads.items():
            location = self.manifests.location(incarnation)
            newest = _newest_version(self.target, location)
            path = manifest_file(location, newest)
            if newest > state.version or (newest and self.target.objects.read(path) != self._read(path)):
                raise self._diverged(state.branch)

    def _diverged(self, branch: str) -> AlreadyExistsError:
        root, source = self.target.root, self.manifests.store.root
        return AlreadyExistsError(
            f"{root} has commits on branch {branch!r} that {source} does not have",
            hint="one of the two was written to or replaced since, or the copy is damaged: verify it, or copy to a new "
            "place",
            root=str(root),
            branch=branch,
        )

    def _publish(self, pins: Pins, present: Collection[str]) -> None:
        """Make the copied states visible, branch by branch, and follow changes of names."""
        objects = self.target.objects
        for path, content in pins.records.items():
            objects.create(path, content)
        # A ref counts only together with its manifest. So the refs of new names may come before it, and a branch that
        # was renamed has at each moment exactly one valid name.
        for path, ref in pins.refs.items():
            objects.create(path, ref.to_bytes())
        self._publish_versions(pins.versions, present)
        self._mark(pins.heads)
        self._follow_names(pins.refs)
        if objects.read(STAMP_PATH) is None or objects.read(copied.MARKER) is not None:
            copied.finish(self.target, self.manifests.stamp)

    def _publish_versions(self, versions: Sequence[FileRecord], present: Collection[str]) -> None:
        missing = [file for file in versions if file.path not in present]
        for file in missing:
            content = self._read(file.path)
            if not self.target.objects.create(file.path, content) and self.target.objects.read(file.path) != content:
                raise self._diverged(file.path)
        self.copied.files += len(missing)
        self.copied.bytes += sum(file.size for file in missing)
        self.copied.kept += len(versions) - len(missing)

    def _mark(self, heads: Mapping[str, ManifestState]) -> None:
        if not self.target.root.capabilities.links_versions:
            return
        for incarnation in heads:
            location = self.manifests.location(incarnation)
            newest = _newest_version(self.target, location)
            mark = newest_mark(self.target.root, location)
            if mark is None or mark.version != newest or not mark.files:
                renew_mark(self.target, location, newest)

    def _follow_names(self, refs: Mapping[str, Ref]) -> None:
        """Replace the refs of names that are used again, and delete those that the source no longer has.

        The copy of a ref goes before the ref: alone it would mean that a ref was lost.
        """
        objects = self.target.objects
        live = {ref.incarnation for ref in refs.values()}
        for incarnation, _ in list(marks(self.target)):
            if incarnation not in live:
                objects.delete(mark_path(incarnation))
        for path, ref in refs.items():
            for place in (path, mark_path(ref.incarnation)):
                if objects.read(place) != ref.to_bytes():
                    objects.replace(place, ref.to_bytes())
        for known in stored_refs(self.target):
            path = ref_path(known.name) if isinstance(known, Ref) else known.path
            if path not in refs:
                objects.delete(path)

    def _read(self, path: str) -> bytes:
        content = self.manifests.store.objects.read(path)
        if content is None:
            raise NotFoundError(f"{path} is missing", path=path)
        return content


def _newest_version(store: Store, location: str) -> int:
    listed = store.objects.level(f"{location}/_versions").files
    return max((version_of(file.path) or 0 for file in listed), default=0)
