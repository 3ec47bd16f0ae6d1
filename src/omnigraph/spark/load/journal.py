"""The journal of a load: its parameters and the results of its completed tasks, as small files below ``jobs/``.

A load deletes its journal when it ends, successfully or not. The journal of a killed load stays, and an identical load
can resume from it. Tasks write their own notes, so a completed task is recorded even if the driver never learns of it.

Invariant: at most one run owns a journal. A killed load cannot be distinguished from a slow one, so taking over and
ending both create the same file, the next owner mark, and create-if-absent lets only one succeed. The run that took
over deletes no file of an earlier run. The run that lost the journal deletes nothing: the new owner may publish it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from omnigraph.core.ports import UlidSource
from omnigraph.errors import ConflictError, CorruptionError, OmnigraphError, OutcomeUnknown
from omnigraph.history.state import Fence
from omnigraph.rows.rejected.reasons import Reasons
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.spark.load.id_ranges import IdRange
from omnigraph.spark.load.omitted_runs import OmittedRuns
from omnigraph.spark.load.slices import InputSlice, LineSpan, SliceTable
from omnigraph.storage.objects.sealed import seal, unseal
from omnigraph.storage.stage.descriptions import is_there, rows_from_json, rows_to_json
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.jobs import DIRECTORY, ENDED, NOTE_KEYS, Job, jobs_of, owner_mark

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one load. Pickled to the executors."""

    store: Store
    job: str
    turn: int
    """Number of takeovers so far."""
    run: str
    """Identifies this run of the load."""

    @classmethod
    def start(cls, store: Store, parameters: Mapping[str, Any]) -> Journal:
        """Create the journal of a new load."""
        job = UlidSource().new_id()
        journal = cls(store, job, 0, job)
        store.objects.create(f"{journal._path}.json", _text(parameters))
        return journal

    @classmethod
    def take_over(cls, store: Store, parameters: Mapping[str, Any]) -> Journal | None:
        """Take over the newest unfinished journal with exactly these parameters; None if there is none."""
        names = [path.removeprefix(f"{DIRECTORY}/") for path, _ in store.objects.list(DIRECTORY)]
        jobs = sorted(name.removesuffix(".json") for name in names if name.endswith(".json") and name.count(".") == 1)
        for job in reversed(jobs):
            if store.objects.read(f"{DIRECTORY}/{job}.json") == _text(parameters):
                found = cls(store, job, 0, UlidSource().new_id())
                marks = found._files(".owner")
                if any((store.objects.read(mark) or ENDED).startswith(ENDED) for mark in marks):
                    continue
                journal = replace(found, turn=len(marks) + 1)
                if not store.objects.create(journal._mark(journal.turn), journal.run.encode()):
                    raise ConflictError(
                        "another process is ending or resuming this load", hint="wait for it, then retry", job=job
                    )
                return journal
        return None

    @property
    def _path(self) -> str:
        return f"{DIRECTORY}/{self.job}"

    @property
    def key(self) -> str:
        """The idempotency key of the commit: a load that is resumed after its publication finds the commit by it."""
        return f"spark-load/{self.job}"

    def note(self, number: int, input_slice: InputSlice) -> None:
        """Record the slice that a task wrote. A slice with violations is not recorded: it is read again."""
        if not input_slice.violations.total:
            self.store.objects.replace(f"{self._path}.{number}.json", _text(_slice_json(input_slice)))

    def finished(self) -> dict[int, InputSlice]:
        """The recorded slices whose files still exist, by number."""
        found = {}
        for path in self._files(".json"):
            content = self.store.objects.read(path)
            if content is not None:
                try:
                    input_slice = _slice_from_json(unseal(content, path, NOTE_KEYS))
                except CorruptionError as error:
                    _logger.warning("reading a slice again, its note is damaged: %s", error.message)
                    continue
                if all(is_there(self.store, rows) for table in input_slice.tables.values() for rows in table.written):
                    found[int(path.split(".")[-2])] = input_slice
        return found

    def _files(self, kind: str) -> list[str]:
        """Paths of task notes (``.json``) or owner marks (``.owner``)."""
        paths = [path for path, _ in self.store.objects.list(DIRECTORY)]
        own = [path for path in paths if path.startswith(f"{self._path}.") and path != f"{self._path}.json"]
        return [path for path in own if path.endswith(kind)]

    def _mark(self, turn: int) -> str:
        return owner_mark(self.job, turn)

    def protected(self, fence: Fence) -> frozenset[str]:
        """Files that the notes protected from the cleanup run of a fence; none once a cleanup has ended the load.

        Cleanup ends stale jobs and reads the notes of the others before it publishes its fence. A job that has not
        ended when the fence is visible was therefore kept, with every note older than that cleanup.
        """
        jobs = jobs_of(self.store.objects.level(DIRECTORY).files)
        own = next((job for job in jobs if job.id == self.job), None)
        if own is None or own.is_ended(self.store.objects):
            return frozenset()
        older = tuple(file for file in own.files if file.modified_us < fence.anchor_us)
        return frozenset(Job(own.id, older).named_files(self.store.objects))

    def claim_end(self) -> bool:
        """Mark the load as ended, so that it cannot be taken over; False if another run has taken it over."""
        mark, content, objects = self._mark(self.turn + 1), ENDED + self.run.encode(), self.store.objects
        if not objects.create(mark, content) and objects.read(mark) != content:
            return False
        if objects.read(f"{self._path}.json") is not None:
            return True
        # Another run took over, ended the load and deleted its marks, so this mark belongs to no journal.
        objects.delete(mark)
        return False

    @contextmanager
    def kept_if_killed(self) -> Iterator[None]:
        """Delete the journal after the block, unless the outcome of the commit is unknown."""
        try:
            yield
        except OutcomeUnknown:
            raise
        except BaseException:
            self._delete()
            raise
        self._delete()

    def _delete(self) -> None:
        try:
            if not self.claim_end():
                return
            # Owner marks last: without them, another run could take over a journal that still has notes.
            for path in [*self._files(".json"), f"{self._path}.json", *self._files(".owner")]:
                self.store.objects.delete(path)
        except OmnigraphError:
            # A remaining journal is garbage for cleanup; the outcome of the load takes precedence.
            return


def _text(value: Mapping[str, Any]) -> bytes:
    # Canonical text: identical parameters must give identical bytes, which take_over compares.
    return seal(json.loads(json.dumps(value, sort_keys=True)))


def _slice_json(input_slice: InputSlice) -> dict[str, Any]:
    return {
        "spans": [[span.entry, span.source, span.start, span.lines] for span in input_slice.spans],
        "tables": {
            key: [
                table.rows,
                table.first_line,
                [rows_to_json(rows) for rows in table.written],
                None if table.omitted is None else table.omitted.to_json(),
                None if table.ids is None else [table.ids.first, table.ids.last],
            ]
            for key, table in input_slice.tables.items()
        },
        "rejected": [asdict(violation) for reasons in input_slice.rejected.values() for violation in reasons],
        "records": [[line, record] for line, record in input_slice.records.items()],
    }


def _slice_from_json(note: Mapping[str, Any]) -> InputSlice:
    rejected: Reasons = {}
    for given in note["rejected"]:
        place = Place(**given["place"])
        violation = Violation(**{**given, "code": ViolationCode(given["code"]), "place": place})
        rejected.setdefault(place, []).append(violation)
    tables = {
        key: SliceTable(
            rows,
            first,
            tuple(rows_from_json(one) for one in written),
            None if omitted is None else OmittedRuns.from_json(omitted),
            None if ids in ([], [None]) else IdRange(*ids[0]),
        )
        for key, (rows, first, written, omitted, *ids) in note["tables"].items()
    }
    spans = tuple(LineSpan(*span) for span in note["spans"])
    return InputSlice(spans, Violations(), tables, rejected, dict(note["records"]))
