"""Repair: restores what has a copy and sets damaged files aside. It guesses nothing and deletes nothing.

A plan is made first, and the same plan is shown or run. It restores small files from their copies, goes back to the
newest manifest version that can be read, and lists everything else with the commits that are hurt. It works on a graph
that cannot be opened. Others must not write meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from omnigraph.core.ports import IdSource
from omnigraph.engine.results import VerifyProblem
from omnigraph.engine.upkeep.repair_result import RepairReport, RepairStep, Unrepaired
from omnigraph.engine.upkeep.small_files import damaged_files, damaged_mark
from omnigraph.engine.upkeep.verify import verify
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.layout import STAMP_PATH, Stamp, ref_path
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.records import DIRECTORY as RECORDS
from omnigraph.manifest.refs import Damaged, Ref, add_mark, mark_path, marks, stored_refs
from omnigraph.manifest.salvage import newest_readable, salvaged_stamp, stored_versions
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.publish.published import mark_path as published_path
from omnigraph.storage.publish.published import newest_mark, renew_mark
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep import jobs
from omnigraph.storage.upkeep.aside import set_aside

STEPS_MAX = 100
"""Rounds of a repair. Each mends something that may have hidden something else, such as a stamp or a head."""


def repair(store: Store, ids: IdSource, *, apply: bool) -> RepairReport:
    """Plan a repair, and execute it with ``apply``."""
    done: list[RepairStep] = []
    for _ in range(STEPS_MAX if apply else 1):
        plan = _Plan(store, ids)
        steps = list(plan.steps())
        if not apply:
            return RepairReport(False, tuple(steps), tuple(plan.unrepaired(steps)))
        if not steps:
            break
        for step in steps:
            step.run()
        done += steps
    return RepairReport(True, tuple(done), tuple(_Plan(store, ids).unrepaired([])))


class _Plan:
    """The damage of a graph, and the steps that mend it."""

    def __init__(self, store: Store, ids: IdSource) -> None:
        self._store = store
        self._ids = ids
        self._stamp, self._stamp_damage = salvaged_stamp(store)
        self._manifests = Manifests(store, self._stamp)

    def steps(self) -> Iterator[RepairStep]:
        """Everything that can be done, the most basic first."""
        if self._stamp_damage is not None:
            yield self._restore_stamp(self._stamp, self._stamp_damage)
        yield from self._heads()
        yield from self._refs()
        yield from self._small_files()

    def unrepaired(self, steps: list[RepairStep]) -> Iterator[Unrepaired]:
        """Damage that ``verify`` finds and no step mends."""
        mended = {path for step in steps for path in (step.path, *step.mends)}
        for problem in verify(self._manifests, deep=True, sources=False).problems:
            if problem.path not in mended:
                yield Unrepaired(problem.path, problem.what, problem.commits, _advice(problem))

    def _aside(self, path: str) -> None:
        set_aside(self._store, path, self._ids.new_id())

    def _aside_if_there(self, path: str) -> None:
        if self._store.objects.size(path) is not None:
            self._aside(path)

    def _restore_stamp(self, stamp: Stamp, what: str) -> RepairStep:
        def run() -> None:
            self._aside_if_there(STAMP_PATH)
            self._store.objects.create(STAMP_PATH, stamp.to_bytes())

        return RepairStep(
            STAMP_PATH, what, "restore it from the manifest of main", "the graph can be opened again", run
        )

    def _heads(self) -> Iterator[RepairStep]:
        """Branches whose newest manifest version cannot be read: the newest one that can counts again."""
        for incarnation, head in branches.named_states(self._manifests):
            if incarnation is None or isinstance(head, ManifestState):
                continue
            state = newest_readable(self._manifests, incarnation)
            if state is not None:
                yield self._go_back(state, head)

    def _go_back(self, state: ManifestState, head: Damaged) -> RepairStep:
        location = self._manifests.location(state.incarnation)
        lost = [version for version in stored_versions(self._store, location) if version > state.version]
        mark = newest_mark(self._store.root, location)
        newest = max([*lost, mark.version if mark is not None else 0])

        def run() -> None:
            for version in lost:
                self._aside(manifest_file(location, version))
            self._renew_mark(location, state.version)

        return RepairStep(
            manifest_file(location, newest),
            head.what,
            f"go back to version {state.version} of branch {state.branch}",
            f"what was committed to {state.branch} after {state.head} is lost "
            f"(manifest versions {state.version + 1} to {newest})",
            run,
            (head.path, *(record.path for record in mark.files)) if mark is not None else (head.path,),
        )

    def _renew_mark(self, location: str, version: int) -> None:
        if not self._store.root.capabilities.links_versions:
            return
        mark = newest_mark(self._store.root, location)
        if mark is not None:
            self._aside(published_path(location, mark.version))
        renew_mark(self._store, location, version)

    def _refs(self) -> Iterator[RepairStep]:
        """Refs that are damaged or lost: restored from their marks, or from what the manifests say."""
        refs = list(stored_refs(self._store))
        named = {ref.incarnation for ref in refs if isinstance(ref, Ref)}
        taken = {ref.name for ref in refs if isinstance(ref, Ref)}
        found = {ref.name: ref for ref in self._unnamed(named) if ref.name not in taken}
        for broken in refs:
            if isinstance(broken, Damaged) and broken.branch is not None:
                yield self._restore_ref(broken, found.pop(broken.branch, None))
        for lost in branches.lost_refs(self._manifests):
            ref = found.pop(lost.branch, None) if lost.branch is not None else self._named_by_manifest(lost)
            if ref is not None:
                yield self._restore_ref(replace(lost, path=ref_path(ref.name)), ref)

    def _unnamed(self, named: set[str]) -> Iterator[Ref]:
        """Refs of incarnations that have a mark and that no ref leads to."""
        for incarnation, mark in marks(self._store):
            if incarnation not in named and isinstance(mark, Ref):
                yield replace(mark, name=self._name_of(incarnation) or mark.name)

    def _name_of(self, incarnation: str) -> str | None:
        """The name that the manifest says, which is the one that counts after a renaming."""
        state = newest_readable(self._manifests, incarnation)
        return None if state is None else state.branch

    def _named_by_manifest(self, mark: Damaged) -> Ref | None:
        incarnation = mark.path.split("/")[1]
        name = self._name_of(incarnation)
        return None if name is None else Ref(name, incarnation, None, None, self._stamp.created_at_us)

    def _restore_ref(self, broken: Damaged, ref: Ref | None) -> RepairStep:
        path = broken.path

        def run() -> None:
            self._aside_if_there(path)
            if ref is not None:
                self._store.objects.create(path, ref.to_bytes())
                self._aside_if_there(mark_path(ref.incarnation))
                add_mark(self._store, ref)

        if ref is not None:
            action = f"restore it from {mark_path(ref.incarnation)}"
            return RepairStep(path, broken.what, action, f"branch {ref.name} can be read again", run)
        effect = f"branch {broken.branch} is gone; its commits stay until cleanup deletes them"
        return RepairStep(path, broken.what, "set it aside", effect, run)

    def _small_files(self) -> Iterator[RepairStep]:
        """Marks, records of cleanup and notes of jobs that are damaged."""
        named = {ref.incarnation: ref for ref in stored_refs(self._store) if isinstance(ref, Ref)}
        for path, what in damaged_files(self._store):
            if path.startswith(f"{RECORDS}/"):
                effect = "the record before it counts; what was given up since can be read again if its files are there"
                yield RepairStep(path, what, "set it aside", effect, partial(self._aside, path))
            elif path.startswith(f"{jobs.DIRECTORY}/"):
                effect = "a load that is resumed reads this part of its input again"
                yield RepairStep(path, what, "set it aside", effect, partial(self._aside, path))
            elif (ref := named.get(path.split("/")[1] if "/" in path else "")) is not None:
                yield self._renew_ref_mark(path, what, ref)
        for incarnation, head in branches.named_states(self._manifests):
            if (
                incarnation is not None
                and isinstance(head, ManifestState)
                and self._store.root.capabilities.links_versions
            ):
                yield from self._published_marks(self._manifests.location(incarnation), head)

    def _renew_ref_mark(self, path: str, what: str, ref: Ref) -> RepairStep:
        def run() -> None:
            self._aside(path)
            add_mark(self._store, ref)

        return RepairStep(path, what, f"write it again from {ref_path(ref.name)}", "a lost ref can be found again", run)

    def _published_marks(self, location: str, head: ManifestState) -> Iterator[RepairStep]:
        for path, what in damaged_mark(self._store, location, head.version):
            effect = f"damage of version {head.version} of branch {head.branch} is found again"
            run = partial(self._renew_mark, location, head.version)
            yield RepairStep(path, what, "write it again", effect, run)


def _advice(problem: VerifyProblem) -> str:
    """Advice for a damaged file that has no copy in the graph."""
    if problem.path.startswith("schemas/"):
        return "restore the file from a copy of the graph; schemas never change"
    if "/_indices/" in problem.path:
        return "restore the file from a copy of the graph, or make a branch from a commit that does not need it"
    return (
        "restore the file from a copy of the graph; otherwise make a branch from a commit that does not need it, "
        "or load the entities of the damaged table again in the mode overwrite"
    )
