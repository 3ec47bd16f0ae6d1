"""A writer process: adds one to a counter a number of times, each time with a compare-and-swap.

Arguments: uri of the counter, number of increments, name of this writer. Every increment is logged in the rows
themselves (`<name>-<n>`), so a lost one is visible. Prints how many swaps it lost.
"""

import sys

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from lance.fragment import write_fragments

ATTEMPTS_MAX = 1_000


def increment(uri: str, label: str) -> int:
    """Append `label` to the rows, whatever others do meanwhile; returns how often it had to start over."""
    for lost in range(ATTEMPTS_MAX):
        base = lance.dataset(uri)
        rows = base.to_table()
        rows = pa.concat_tables([rows, pa.table({"entry": [label]}, schema=rows.schema)])
        operation = LanceOperation.Overwrite(rows.schema, write_fragments(rows, base, mode="overwrite"))
        try:
            LanceDataset.commit(base, operation, read_version=base.version, max_retries=0)
        except CommitConflictError:
            continue
        return lost
    raise RuntimeError(f"no swap won in {ATTEMPTS_MAX} attempts")


if __name__ == "__main__":
    uri, increments, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    print(sum(increment(uri, f"{name}-{number}") for number in range(increments)))
