"""A process that inserts single rows as fast as it can until a file appears."""

from __future__ import annotations

import sys
from pathlib import Path

import omnigraph

SCHEMA = "node Person { name: String @key\n age: I64? }"
INSERT = "query q($name: String) { insert Person { name: $name, age: 1 } }"


def insert_until(uri: str, number: int, stop: Path) -> int:
    graph = omnigraph.open(uri, durability="os")
    done = 0
    while not stop.exists():
        graph.mutate(INSERT, {"name": f"w{number}-{done}"})
        done += 1
        if done == 3:
            stop.with_suffix(f".{number}").touch()
    return done


if __name__ == "__main__":
    print(insert_until(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
