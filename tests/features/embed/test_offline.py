"""The deterministic embedder gives the reference's vectors, bit by bit."""

import math
import struct

import pytest

from omnigraph.embed import MockEmbedder
from omnigraph.embed.offline import fnv1a

KNOWN = ["b6c30abfb28ff1be4dc4243e51312d3f", "927c2a3f9eed0fbf202ed5be5091843e"]


def vector_by_the_book(text: str, dimension: int) -> list[float]:
    """The specification once more, with 32-bit floats by `struct`."""

    def narrow(number: float) -> float:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])

    seed = 0xCBF29CE484222325
    for byte in text.encode("utf-8"):
        seed = ((seed ^ byte) * 0x100000001B3) % 2**64
    values = []
    for _ in range(dimension):
        seed ^= (seed << 13) % 2**64
        seed ^= seed >> 7
        seed ^= (seed << 17) % 2**64
        values.append(narrow(narrow(narrow(float(seed) / float(2**64 - 1)) * 2) - 1))
    total = 0.0
    for value in values:
        total += value * value
    norm = narrow(math.sqrt(total))
    return [narrow(value / norm) for value in values]


def test_the_hash_is_fnv1a() -> None:
    assert fnv1a(b"") == 0xCBF29CE484222325
    assert fnv1a(b"a") == 0xAF63DC4C8601EC8C
    assert fnv1a(b"foobar") == 0x85944171F73967E8


@pytest.mark.parametrize("text", ["", "a", "alpha", "naïve café", "日本語", "\U0001f60e", "x" * 5000])
@pytest.mark.parametrize("dimension", [1, 4, 1536])
def test_a_vector_is_what_the_specification_says_to_the_last_bit(text: str, dimension: int) -> None:
    (vector,) = MockEmbedder().embed([text], dimension, "query")
    assert list(vector) == vector_by_the_book(text, dimension)


def test_known_vectors_stay_what_they_are() -> None:
    alpha, beta = MockEmbedder().embed(["alpha", "beta"], 4, "document")
    packed = [struct.pack("<4f", *vector).hex() for vector in (alpha, beta)]
    assert packed == KNOWN


def test_vectors_have_length_one_and_do_not_depend_on_the_role() -> None:
    embedder = MockEmbedder("m")
    (query,) = embedder.embed(["some text"], 64, "query")
    (document,) = embedder.embed(["some text"], 64, "document")
    assert query == document
    assert math.isclose(sum(number * number for number in query), 1, rel_tol=1e-6)
    assert embedder.model == "m"
