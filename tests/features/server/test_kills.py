"""A server that is killed under load: nothing acknowledged is lost, and the next start needs no repair."""

import os
import random
import time
from pathlib import Path

import pytest

import omnigraph
from tests.features.server.kills import SCHEMA, VERBS, Load, Server, check, mutate, reader_pids
from tests.features.server.live import BASE


def test_nothing_acknowledged_is_lost_and_the_next_start_needs_no_repair(tmp_path: Path) -> None:
    path = tmp_path / "kb.omni"
    omnigraph.create(path, SCHEMA)
    server = Server(path)
    loads = {verb: Load(server, verb, 1, f"v{number}") for number, verb in enumerate(VERBS) if "schema" not in verb}
    for load in loads.values():
        load.wait_for(1)
    server.kill()
    for load in loads.values():
        load.join()
    check(path, loads)
    again = Server(path)
    with again.client() as client:
        assert mutate(client, "after").status_code == 200
        assert client.get(f"{BASE}/branches").status_code == 200
    again.kill()


@pytest.mark.long
@pytest.mark.parametrize("verb", VERBS)
def test_a_front_that_is_killed_at_any_moment_of_any_verb_loses_nothing(tmp_path: Path, verb: str) -> None:
    path = tmp_path / "kb.omni"
    omnigraph.create(path, SCHEMA)
    moments = random.Random(verb)
    for kill in range(3):
        server = Server(path, readers=kill % 2)
        load = Load(server, verb, 1 if "schema" in verb else 8, f"k{kill}")
        load.wait_for(1)
        time.sleep(moments.random() * 0.5)
        readers = reader_pids(server.process.pid)
        server.kill()
        load.join()
        check(path, {verb: load})
        ends = time.monotonic() + 30
        while any(os.path.exists(f"/proc/{pid}") for pid in readers):
            assert time.monotonic() < ends, "readers end with their front"
            time.sleep(0.05)
