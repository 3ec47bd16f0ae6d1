"""With OMNIGRAPH_CHECK_READS no damaged data file is read."""

from pathlib import Path

import pytest

import omnigraph
from omnigraph.core.tables import FileRecord
from omnigraph.errors import CorruptionError
from omnigraph.storage import checked_reads
from omnigraph.storage.checked_reads import wants_checks
from tests.promises.damage import sweep
from tests.promises.damage.graphs import insert

READ = "query q() { match { $p: Person } return { $p.name, $p.age } }"


def data_file(root: Path) -> str:
    """A data file of the head that a commit which is in the log has recorded."""
    graph = omnigraph.open(root)
    spilled = list(graph.commits())[len(graph.snapshot().state.commits) :]
    recorded = [record.path for commit in spilled for record in commit.files if "/data/" in record.path]
    fragments = graph._store.open(
        graph.snapshot().state.tables["node:Person"].location,
        graph.snapshot().state.tables["node:Person"].lance_version,
    ).get_fragments()
    present = {file.path for fragment in fragments for file in fragment.metadata.files}
    return next(path for path in recorded if path.rpartition("/")[2] in present)


def test_the_variable_switches_it_on() -> None:
    assert [wants_checks({checked_reads.VARIABLE: value}) for value in ("", "0", "1")] == [False, False, True]
    assert not wants_checks({})


@pytest.mark.usefixtures("checked")
def test_a_damaged_data_file_is_named_before_a_row_of_it_is_read(root: Path) -> None:
    path = data_file(root)
    rows = omnigraph.open(root).query(READ).to_pylist()
    sweep.flip(0.3)(root / path)
    graph = omnigraph.open(root)
    for _ in range(2):
        with pytest.raises(CorruptionError, match=path) as refused:
            graph.query(READ)
        assert refused.value.facts["path"] == path
    with pytest.raises(CorruptionError, match=path):
        b"".join(graph.snapshot().export())
    assert rows


@pytest.mark.usefixtures("checked")
def test_a_file_is_digested_once_per_open_graph(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digested: list[str] = []
    real = checked_reads.mismatch

    def counted(root_: object, record: FileRecord) -> str | None:
        digested.append(record.path)
        return real(root_, record)  # type: ignore[arg-type] # handed through

    monkeypatch.setattr(checked_reads, "mismatch", counted)
    graph = omnigraph.open(root)
    graph.query(READ)
    insert(graph, "another")
    graph.query(READ)
    assert digested
    assert len(digested) == len(set(digested))
