"""Rows at positions: the answer of `LanceDataset.take`, without its walk over fragments with deleted rows."""

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from omnigraph.core.tables import TablePin
from omnigraph.core.tuning import Tuning
from omnigraph.storage.tables.rows_by_position import live_offsets, long_walks, take
from omnigraph.storage.tables.store import Store

ROWS = 1_000
NAMES = ["vector", "number", "text"]


class Rows:
    """A table of five fragments, the last one short. Two have deleted rows, one has only its last row left."""

    def __init__(self, place: Path, tuning: Tuning) -> None:
        numbers = np.arange(ROWS)
        columns = {
            "number": numbers,
            "text": pa.array([f"row {number}" if number % 7 else None for number in numbers]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(np.repeat(numbers, 2), pa.float32()), 2),
            "blob": lance.blob_array([b"%d" % number if number % 3 else None for number in numbers]),
        }
        fields = [pa.field("number", pa.int64()), pa.field("text", pa.string())]
        schema = pa.schema([*fields, pa.field("vector", columns["vector"].type), lance.blob_field("blob")])
        table = lance.write_dataset(
            pa.table(columns, schema=schema),
            place / "t",
            max_rows_per_file=240,
            data_storage_version="2.2",
            enable_stable_row_ids=True,
        )
        table.delete("number % 5 = 2 and (number < 240 or number >= 720)")
        table.delete("number >= 480 and number < 719")
        self.store = Store(place, durability="os", tuning=tuning)
        self.pin = TablePin("node:T", "t", table.version, 1, table.count_rows())

    def taken(self, positions: np.ndarray, names: list[str]) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = take(self.store, self.pin, positions, names).to_pylist()
        return rows

    def scanned(self, positions: np.ndarray, names: list[str]) -> list[dict[str, object]]:
        table = self.store.open("t", self.pin.lance_version).scanner(columns=names).to_table()
        rows: list[dict[str, object]] = table.take(pa.array(positions)).to_pylist()
        return rows


@pytest.fixture(params=[True, False], ids=["long walks", "short walks"])
def table(tmp_path: Path, request: pytest.FixtureRequest) -> Rows:
    return Rows(tmp_path, Tuning(walked_rows_max=100) if request.param else Tuning())


def _positions(kind: str, live: int) -> np.ndarray:
    random = np.random.default_rng(3)
    match kind:
        case "all":
            return np.arange(live)
        case "one":
            return np.array([live - 1])
        case "one fragment":
            return np.arange(10, 150, 7)
        case "ascending":
            return np.sort(random.choice(live, 60, replace=False))
        case "any order, some twice":
            return random.integers(0, live, 90)
    raise AssertionError(kind)


@pytest.mark.parametrize("names", [NAMES, [*NAMES, "blob"]], ids=["values", "with blobs"])
@pytest.mark.parametrize("kind", ["all", "one", "one fragment", "ascending", "any order, some twice"])
def test_rows_come_as_asked_for_whatever_was_deleted(table: Rows, kind: str, names: list[str]) -> None:
    positions = _positions(kind, table.pin.rows)
    assert table.taken(positions, names) == table.scanned(positions, names)


def test_a_position_behind_the_last_row_is_refused(table: Rows) -> None:
    with pytest.raises((OSError, ValueError)):
        table.taken(np.array([3, table.pin.rows]), NAMES)


def test_only_fragments_with_deletions_and_positions_far_behind_their_start_are_read_apart() -> None:
    far = 1_000
    starts = np.array([0, 2 * far, 4 * far, 6 * far])
    last_of_each = starts[1:] - 1
    assert long_walks(last_of_each, starts, [True, False, True], far) == {0: (0, 1), 2: (2, 3)}
    assert long_walks(starts[:-1] + 5, starts, [True, True, True], far) == {}, "near their start"
    many = np.arange(2 * far, 2 * far + 1_000)
    assert long_walks(many, starts, [True, True, True], far) == {1: (0, 1_000)}, "the walks of all positions count"
    assert long_walks(last_of_each, starts, [False, False, False], far) == {}


@pytest.mark.parametrize("dead", [[], [0], [1, 2], [0, 1, 5, 9], list(range(9))], ids=str)
def test_a_position_is_the_offset_that_it_has_among_the_live_rows(dead: list[int]) -> None:
    live = [offset for offset in range(10) if offset not in dead]
    assert live_offsets(np.array(dead, np.int64), np.arange(len(live))).tolist() == live


def test_values_of_a_large_local_table_that_lie_close_together_are_read_at_once(tmp_path: Path) -> None:
    rows = 200_000
    numbers = np.random.default_rng(5).permutation(rows)
    texts = pa.array([f"person-{number:09d}" for number in numbers])
    table = lance.write_dataset(pa.table({"number": numbers, "text": texts}), tmp_path / "t")
    store = Store(tmp_path, durability="os")
    pin = TablePin("node:T", "t", table.version, 1, rows)
    positions = np.arange(3, rows, 200)
    names = ["number", "text"]
    usual, taking = store.open_pin(pin), store.open_to_take(pin)
    assert store.open_to_take(pin) is taking
    found = usual.take(positions, columns=names)
    usual_reads = usual.io_stats_incremental().read_iops
    taking.io_stats_incremental()
    assert take(store, pin, positions, names).to_pylist() == found.to_pylist()
    reads = taking.io_stats_incremental().read_iops
    assert reads * 2 < usual_reads
