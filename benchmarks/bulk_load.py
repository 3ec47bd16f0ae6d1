"""A deterministic social graph as JSON lines of any size: persons with a key, a unique mail and a biography, and edges."""

from __future__ import annotations

import random
from collections.abc import Iterator

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
    """Lines in blocks until there are at least so many bytes. An edge may come before the person it points to."""
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
    """Write the lines to a file; how many bytes there are."""
    size = 0
    with open(path, "w", encoding="ascii") as file:
        for block in blocks(bytes_min):
            size += file.write(block)
    return size
