"""Counts of cells are kept by kind and add up over parts."""

import errno
from pathlib import Path

from tests.promises.crash.cells import Cell, Cells, describe
from tests.support.faults.fault import DropAt, FailAt, FailFrom, KillAt, PartialWriteAt, RespondAt


def test_a_fault_is_described_without_its_position() -> None:
    faults = [KillAt(3), KillAt(4, after=True), PartialWriteAt(1, kill=True), FailAt(9, errno.EIO)]
    assert [describe(fault) for fault in faults] == ["kill before", "kill after", "kill in a write", "EIO once"]
    assert describe(FailFrom(2, errno.ENOSPC)) == "ENOSPC from here on"
    assert describe(RespondAt(2, 403, times=10)) == "403 from here on"
    assert describe(DropAt(2, after=True)) == "connection lost, carried out"


def test_counts_of_parts_add_up(tmp_path: Path) -> None:
    part, whole = Cells(), Cells()
    part.add(Cell("local", "insert", "kill before"), True)
    part.add(Cell("local", "insert", "kill before"), False)
    part.add(Cell("s3", "insert", "500 once"), True)
    part.notes.append("7 transactions")
    part.save(tmp_path / "counts" / "part.json")
    for _ in range(2):
        whole.load(tmp_path / "counts" / "part.json")
    assert whole.tables() == [
        "| Place | Fault | Cells | Violations |",
        "|---|---|---|---|",
        "| local | kill before | 4 | 2 |",
        "| s3 | 500 once | 2 | 0 |",
        "",
        "| Writer | Cells | Violations |",
        "|---|---|---|",
        "| insert | 6 | 2 |",
        "",
        "4 kill cells, 2 error cells, 2 violations",
        "7 transactions",
        "7 transactions",
    ]
