"""Remembering within a bound."""

from omnigraph.core.lru import Lru


def test_what_was_not_used_goes_first() -> None:
    cache: Lru[str, int] = Lru(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_the_bound_is_the_sum_of_what_values_cost() -> None:
    cache: Lru[str, bytes] = Lru(10, len)
    cache.put("a", b"12345")
    cache.put("b", b"12345")
    cache.put("a", b"1234567")
    assert cache.get("b") is None
    assert cache.get("a") == b"1234567"


def test_a_value_above_the_bound_is_not_remembered() -> None:
    cache: Lru[str, bytes] = Lru(3, len)
    cache.put("a", b"1")
    cache.put("b", b"1234")
    assert cache.get("a") == b"1"
    assert cache.get("b") is None
    assert len(cache) == 1
