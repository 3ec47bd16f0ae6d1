"""Journals of long jobs: their files stay as long as the job may be resumed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import omnigraph
from omnigraph.storage.objects.sealed import seal
from omnigraph.storage.upkeep.jobs import ENDED, owner_mark
from omnigraph.storage.upkeep.sweep import Fate
from tests.promises.cleanup.graphs import age, root
from tests.promises.cleanup.reachable import files
from tests.promises.protocol.graphs import insert

DAY = 24


def note(graph: omnigraph.Graph, job: str, number: int, *written: str) -> None:
    rows = [{"location": "nodes/x", "fragments": [], "rows": 1, "files": [[path, 5, None] for path in written]}]
    said = {"spans": [], "tables": {"node:Person": [1, 1, rows]}, "rejected": [], "records": []}
    put(graph, f"jobs/{job}.{number}.json", seal(said).decode())


def put(graph: omnigraph.Graph, path: str, text: str = "data!") -> Path:
    place = root(graph) / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def started(graph: omnigraph.Graph, job: str) -> list[Path]:
    """A job with two finished tasks and a file of one that is not finished; a blob file is named like any other."""
    location = next(root(graph).glob("nodes/*/data")).relative_to(root(graph))
    written = [f"{location}/{job}{number}.lance" for number in range(3)] + [f"{location}/{job}0/b.blob"]
    put(graph, f"jobs/{job}.json", seal({"mode": "append"}).decode())
    note(graph, job, 0, written[0], written[3])
    note(graph, job, 1, written[1])
    return [put(graph, path) for path in written]


def test_what_a_job_has_written_stays_however_old_it_is(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    noted = started(graph, "JOB")
    unnoted = noted.pop(2)
    age(graph, 6 * DAY)
    result = graph.cleanup(keep=1)
    assert all(path.exists() for path in noted)
    assert not unnoted.exists()
    assert result.files["data"][Fate.JOBS].files == 2
    assert result.files["blobs"][Fate.JOBS].files == 1
    assert len(list((root(graph) / "jobs").iterdir())) == 3


def test_a_dead_job_goes_with_what_it_kept(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    written = started(graph, "JOB")
    put(graph, owner_mark("JOB", 1), "somebody")
    before = files(root(graph))
    age(graph, 8 * DAY)
    assert graph.cleanup(dry_run=True).files["jobs"][Fate.DELETED].files == 4
    assert files(root(graph)) == before
    assert graph.cleanup().files["jobs"][Fate.DELETED].files == 4
    assert not any(path.exists() for path in written)
    assert not list((root(graph) / "jobs").iterdir())


def test_a_job_that_anybody_went_on_with_is_alive(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    written = started(graph, "JOB")
    age(graph, 8 * DAY)
    put(graph, owner_mark("JOB", 1), "the one who resumed it")
    graph.cleanup()
    assert all(path.exists() for number, path in enumerate(written) if number != 2)


def test_a_job_that_is_taken_over_at_the_same_moment_stays(graph: omnigraph.Graph) -> None:
    """Whoever creates the next mark has it. It is created here after cleanup has listed the job."""
    insert(graph, "a")
    written = started(graph, "JOB")
    age(graph, 8 * DAY)
    store, create = graph._store.objects, graph._store.objects.create
    mark = owner_mark("JOB", 1)

    def slow(path: str, content: bytes) -> bool:
        if path == mark:
            create(path, b"the one who resumed it")
        return create(path, content)

    store.create = slow  # type: ignore[method-assign] # the moment between two calls
    graph.cleanup()
    assert all(path.exists() for number, path in enumerate(written) if number != 2)
    assert (root(graph) / mark).read_text() == "the one who resumed it"


def test_an_end_that_was_not_finished_is_finished(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    written = started(graph, "JOB")
    put(graph, owner_mark("JOB", 1), ENDED.decode() + "a cleanup that was killed")
    age(graph, 8 * DAY)
    graph.cleanup()
    assert not any(path.exists() for path in written)
    assert not list((root(graph) / "jobs").iterdir())


def test_a_note_that_is_written_after_the_end_of_its_load_goes_at_once(graph: omnigraph.Graph) -> None:
    """A killed executor does not end the Python process of its task, which may write after the load has ended."""
    insert(graph, "a")
    written = started(graph, "JOB")
    (root(graph) / "jobs/JOB.json").unlink()
    assert graph.cleanup(dry_run=True, grace="0s").files["jobs"][Fate.DELETED].files == 2
    graph.cleanup(grace="0s")
    assert not any(path.exists() for path in written)
    assert not list((root(graph) / "jobs").iterdir())


def test_an_end_that_was_interrupted_is_finished_without_waiting(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    written = started(graph, "JOB")
    put(graph, owner_mark("JOB", 1), ENDED.decode() + "its own load")
    graph.cleanup(grace="0s")
    assert not any(path.exists() for path in written)
    assert not list((root(graph) / "jobs").iterdir())


def test_a_journal_that_ends_while_cleanup_looks_was_published(graph: omnigraph.Graph) -> None:
    """Jobs are looked at before branches: a journal that is gone by then belongs to a commit that is seen."""
    insert(graph, "a")
    location = next(root(graph).glob("nodes/*/data"))
    before = set(location.iterdir())
    graph.load([{"type": "Person", "data": {"name": "b"}}])
    [data] = set(location.iterdir()) - before
    note(graph, "JOB", 0, str(data.relative_to(root(graph))))
    journal = put(graph, "jobs/JOB.json", seal({"mode": "append"}).decode())
    os.utime(data, (time.time() - 90_000, time.time() - 90_000))
    graph.cleanup(keep=1)
    journal.unlink()
    graph.cleanup(keep=1)
    assert data.exists()
    assert graph.verify().is_clean
