"""The journal of a load: what it was asked for, and what its finished tasks wrote, as small files below ``jobs/``.

A load that ends, well or not, takes its journal along. The journal of one that was killed stays, and lets the same load
go on where it was. Tasks write their own notes, so a finished one is noted even if the driver never hears of it.

Nobody can tell whether a load was killed or is only slow. So taking a journal over and ending it both create the same
file, the next mark of its owners, and only one of them can. Who took over deletes nothing that was there before, and
who lost the journal deletes nothing at all: the other may publish it.
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
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.spark.load.rejected_rows import Reasons
from omnigraph.spark.load.slices import InputSlice, SliceTable, Span
from omnigraph.storage.objects.sealed import seal, unseal
from omnigraph.storage.stage.descriptions import is_there, rows_from_json, rows_to_json
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.jobs import DIRECTORY, ENDED, NOTE_KEYS, Job, jobs_of, owner_mark

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one load. Travels to the executors."""

    store: Store
    job: str
    turn: int
    """How many have taken it over so far."""
    run: str
    """Tells this run of the load from every other."""

    @classmethod
    def start(cls, store: Store, asked: Mapping[str, Any]) -> Journal:
        """Begin the journal of a new load."""
        job = UlidSource().new_id()
        journal = cls(store, job, 0, job)
        store.objects.create(f"{journal._path}.json", _text(asked))
        return journal

    @classmethod
    def take_over(cls, store: Store, asked: Mapping[str, Any]) -> Journal | None:
        """The newest journal of a load that was asked for exactly the same, if there is one. It is ours then."""
        names = [path.removeprefix(f"{DIRECTORY}/") for path, _ in store.objects.list(DIRECTORY)]
        jobs = sorted(name.removesuffix(".json") for name in names if name.endswith(".json") and name.count(".") == 1)
        for job in reversed(jobs):
            if store.objects.read(f"{DIRECTORY}/{job}.json") == _text(asked):
                found = cls(store, job, 0, UlidSource().new_id())
                marks = found._files(".owner")
                if any((store.objects.read(mark) or ENDED).startswith(ENDED) for mark in marks):
                    continue
                journal = replace(found, turn=len(marks) + 1)
                if not store.objects.create(journal._mark(journal.turn), journal.run.encode()):
                    raise ConflictError("somebody else ends or resumes this load", hint="wait for them", job=job)
                return journal
        return None

    @property
    def _path(self) -> str:
        return f"{DIRECTORY}/{self.job}"

    @property
    def key(self) -> str:
        """The idempotency key of the commit: a load that is resumed after it was published finds it."""
        return f"spark-load/{self.job}"

    def note(self, number: int, input_slice: InputSlice) -> None:
        """What the task of a split wrote. What is wrong with a split is not noted: it is read again."""
        if not input_slice.violations.total:
            self.store.objects.replace(f"{self._path}.{number}.json", _text(_slice_json(input_slice)))

    def finished(self) -> dict[int, InputSlice]:
        """What is noted and still there, by number of the split."""
        found = {}
        for path in self._files(".json"):
            content = self.store.objects.read(path)
            if content is not None:
                try:
                    input_slice = _slice_from_json(unseal(content, path, NOTE_KEYS))
                except CorruptionError as error:
                    _logger.warning("a split is read again: %s", error.message)
                    continue
                if all(is_there(self.store, rows) for table in input_slice.tables.values() for rows in table.written):
                    found[int(path.split(".")[-2])] = input_slice
        return found

    def _files(self, kind: str) -> list[str]:
        """Notes of tasks, or marks of owners."""
        paths = [path for path, _ in self.store.objects.list(DIRECTORY)]
        own = [path for path in paths if path.startswith(f"{self._path}.") and path != f"{self._path}.json"]
        return [path for path in own if path.endswith(kind)]

    def _mark(self, turn: int) -> str:
        return owner_mark(self.job, turn)

    def protected(self, fence: Fence) -> frozenset[str]:
        """Files that its notes protected from the cleanup of a fence; none once a cleanup has ended the load.

        Cleanup ends jobs and reads the notes of the others before it puts up its fence. So a job that has not ended
        when the fence is seen was kept, with every note that is older than that cleanup.
        """
        jobs = jobs_of(self.store.objects.level(DIRECTORY).files)
        own = next((job for job in jobs if job.id == self.job), None)
        if own is None or own.is_ended(self.store.objects):
            return frozenset()
        older = tuple(file for file in own.files if file.modified_us < fence.anchor_us)
        return frozenset(Job(own.id, older).named_files(self.store.objects))

    def is_ended_by_us(self) -> bool:
        """Whether nobody took the load over. From then on nobody can."""
        mark, said, objects = self._mark(self.turn + 1), ENDED + self.run.encode(), self.store.objects
        if not objects.create(mark, said) and objects.read(mark) != said:
            return False
        if objects.read(f"{self._path}.json") is not None:
            return True
        # Whoever took it over has ended it, and their marks are gone.
        objects.delete(mark)
        return False

    @contextmanager
    def kept_if_killed(self) -> Iterator[None]:
        """The journal is gone after the block, unless nobody knows how that ended."""
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
            if not self.is_ended_by_us():
                return
            # The marks last: while there are notes, nobody else may take them for his.
            for path in [*self._files(".json"), f"{self._path}.json", *self._files(".owner")]:
                self.store.objects.delete(path)
        except OmnigraphError:
            # A journal that stays is garbage for cleanup; how the load ended matters more.
            return


def _text(value: Mapping[str, Any]) -> bytes:
    # Two runs that were asked for the same write the same text.
    return seal(json.loads(json.dumps(value, sort_keys=True)))


def _slice_json(input_slice: InputSlice) -> dict[str, Any]:
    return {
        "spans": [[span.entry, span.source, span.start, span.lines] for span in input_slice.spans],
        "tables": {
            key: [table.rows, table.first_line, [rows_to_json(rows) for rows in table.written]]
            for key, table in input_slice.tables.items()
        },
        "rejected": [asdict(violation) for reasons in input_slice.rejected.values() for violation in reasons],
        "records": [[line, record] for line, record in input_slice.records.items()],
    }


def _slice_from_json(said: Mapping[str, Any]) -> InputSlice:
    rejected: Reasons = {}
    for given in said["rejected"]:
        place = Place(**given["place"])
        violation = Violation(**{**given, "code": ViolationCode(given["code"]), "place": place})
        rejected.setdefault(place, []).append(violation)
    tables = {
        key: SliceTable(rows, first, tuple(rows_from_json(one) for one in written))
        for key, (rows, first, written) in said["tables"].items()
    }
    spans = tuple(Span(*span) for span in said["spans"])
    return InputSlice(spans, Violations(), tables, rejected, dict(said["records"]))
