"""Memory and time of a large load: JSON lines of a social graph, loaded in a fresh process.

`python -m benchmarks.bulk_load --gigabytes 5`. The lines are deterministic: persons with a key, a unique mail and a
biography, and four edges each, some of them before the person they point to. The goal is less than 2 GB of memory.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from omnigraph.engine.graph import create

SCHEMA = """
node Person {
    name: String @key
    mail: String? @unique
    age: I32?
    score: F64?
    born: Date?
    biography: String?
    @range(age, 0..150)
}
edge Follows: Person -> Person {
    weight: F64?
    since: Date?
    note: String?
}
"""

EDGES_PER_PERSON = 4
BLOCK_PERSONS = 1_000
_WORDS = ("graph", "table", "branch", "commit", "lance", "edge", "node", "typed", "query", "merge", "disk", "row")


def blocks(bytes_min: int, seed: int = 7) -> Iterator[str]:
    """Blocks of lines, at least ``bytes_min`` bytes in total. An edge may precede the person it points to."""
    written = first = 0
    texts = _texts(random.Random(seed))
    while written < bytes_min:
        block = _block(first, texts, first + BLOCK_PERSONS)
        written += len(block)
        first += BLOCK_PERSONS
        yield block


def _texts(source: random.Random) -> list[str]:
    return [" ".join(source.choice(_WORDS) for _ in range(24)) for _ in range(997)]


def _block(first: int, texts: list[str], end: int) -> str:
    lines = []
    for number in range(first, end):
        day = f"{1940 + number % 70}-{1 + number % 12:02d}-{1 + number % 28:02d}"
        lines.append(
            f'{{"type":"Person","data":{{"name":"person-{number:09d}","mail":"{number:x}@example.org",'
            f'"age":{number % 100},"score":{number / 7},"born":"{day}","biography":"{texts[number % 997]}"}}}}\n'
        )
        for step in range(1, EDGES_PER_PERSON + 1):
            other = (number * 7919 + step * 104729) % end
            lines.append(
                f'{{"edge":"Follows","from":"person-{number:09d}","to":"person-{other:09d}",'
                f'"data":{{"weight":{step / 3},"since":"{day}","note":"{texts[other % 997][:60]}"}}}}\n'
            )
    return "".join(lines)


def write(path: str, bytes_min: int) -> int:
    """Write the lines to a file and return its size in bytes."""
    size = 0
    with open(path, "w", encoding="ascii") as file:
        for block in blocks(bytes_min):
            size += file.write(block)
    return size


def load(path: str, root: str) -> None:
    """Body of the fresh process: create a graph, load the file, report time and memory."""
    graph = create(root, SCHEMA)
    start = time.perf_counter()
    result = graph.load(path, "append")
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    processor = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    size = os.path.getsize(path)
    print(
        f"{result.total:,} rows, {size / 1e9:.2f} GB of JSON lines in {seconds:.1f} s: {size / 1e6 / seconds:.1f} MB/s"
    )
    print(f"peak memory {memory / 1e6:,.0f} MB; {processor:.1f} s of processor time")


def main(bytes_min: int = 200_000_000) -> None:
    directory = tempfile.mkdtemp(prefix="omnigraph-bulk-")
    try:
        path = os.path.join(directory, "lines.jsonl")
        write(path, bytes_min)
        command = [sys.executable, "-m", "benchmarks.bulk_load", "--load", path, os.path.join(directory, "graph")]
        subprocess.run(command, check=True)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=0.2, help="size of the file")
    parser.add_argument("--load", nargs=2, metavar=("FILE", "ROOT"), help="load an existing file")
    given = parser.parse_args()
    if given.load:
        load(*given.load)
    else:
        main(int(given.gigabytes * 1e9))
