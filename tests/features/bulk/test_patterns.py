"""Numbers stand for patterns of omitted cells, however many columns and rows there are."""

import numpy as np
import pytest

from omnigraph.write.load.patterns import Patterns


@pytest.mark.parametrize("columns", [1, 3, 8, 9, 20, 70])
def test_numbers_give_back_the_cells_of_their_rows(columns: int) -> None:
    rng = np.random.default_rng(columns)
    patterns = Patterns([str(column) for column in range(columns)])
    whole = np.zeros((4, columns), np.bool_)
    sparse, dense, same = (rng.random((500, columns)) < share for share in (0.05, 0.5, 1.1))
    for cells in (sparse, whole, same, dense, sparse[:1], whole[:0]):
        numbers = patterns.numbers(cells, len(cells)).to_numpy()
        assert (patterns.cells(numbers) == cells).all()
    assert patterns.numbers(whole, 4).to_pylist() == patterns.numbers(None, 4).to_pylist() == [0, 0, 0, 0]
