"""Maintenance beside the clients: merges of the branches into main, optimize, cleanup.

Run as `upkeep.py <uri> <rounds> <branch> ...`. Files are deleted only after the default grace, as beside any writer.
"""

import sys

import omnigraph
from omnigraph.errors import ConflictError, OutcomeUnknown, StorageError
from tests.support.faults.window import arm


def main(uri: str, rounds: int, branches: list[str]) -> None:
    graph = omnigraph.open(uri, durability="os")
    arm()
    for _ in range(rounds):
        for work in (
            *(lambda name=name: graph.merge(name) for name in branches),
            *(lambda name=name: graph.optimize(name) for name in ("main", *branches)),
            lambda: graph.cleanup(keep=20),
        ):
            try:
                work()
            except (ConflictError, OutcomeUnknown, StorageError) as error:
                print(f"{error.code}: {error}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
