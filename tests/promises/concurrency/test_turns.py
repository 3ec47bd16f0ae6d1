"""Writers that meet on one branch take turns instead of losing swaps to each other."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from pathlib import Path

import pytest

import omnigraph
from omnigraph.storage.objects import turns
from omnigraph.storage.objects.backends import parse_root
from omnigraph.storage.objects.turns import LocalTurns
from tests.promises.concurrency.insert_until_told import SCHEMA

INSERT = "query add($name: String) { insert Person { name: $name, age: 1 } }"


def test_two_writers_in_turns_lose_no_swap_once_they_know_of_each_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    two = omnigraph.open(tmp_path / "g", durability="os")
    with caplog.at_level(logging.INFO, logger="omnigraph.manifest.publisher"):
        for number in range(10):
            for name, graph in (("one", one), ("two", two)):
                graph.mutate(INSERT, {"name": f"{name}-{number}"})
    lost = [record for record in caplog.records if "was taken by another writer" in record.getMessage()]
    assert len(lost) <= 2
    assert one.snapshot().counts()["node:Person"] == 20


def test_a_writer_without_rivals_takes_no_turn(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    for number in range(3):
        graph.mutate(INSERT, {"name": f"p{number}"})
    assert not list(tmp_path.rglob(turns.FILE))


def test_a_turn_passes_to_the_writer_that_waits_when_its_holder_ends(tmp_path: Path) -> None:
    (tmp_path / "branch").mkdir()
    local = LocalTurns(parse_root(tmp_path))
    order: list[str] = []

    def second() -> None:
        with LocalTurns(parse_root(tmp_path)).hold("branch", 60):
            order.append("second")

    with local.hold("branch", 60):
        thread = threading.Thread(target=second)
        thread.start()
        while not any(item.name == "omnigraph-turn" for item in threading.enumerate()):
            time.sleep(0)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_turn_that_lasts_longer_than_announced_is_not_waited_for(tmp_path: Path) -> None:
    """The lock that arrives late is released by the thread that waited for it."""
    (tmp_path / "branch").mkdir()
    path = tmp_path / "branch" / turns.FILE
    path.write_text(f"{time.time() - 5:020.3f}")
    holder = os.open(path, os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with LocalTurns(parse_root(tmp_path)).hold("branch", 60):
        pass
    os.close(holder)
    for thread in threading.enumerate():
        if thread.name == "omnigraph-turn":
            thread.join()
    free = os.open(path, os.O_RDWR)
    fcntl.flock(free, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(free)
