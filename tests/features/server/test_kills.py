"""A server that is killed under load: nothing acknowledged is lost, and the next start needs no repair."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

import omnigraph
from tests.features.server.kills import (
    ALONE,
    WRITING,
    Load,
    Server,
    check,
    check_jobs,
    reader_pids,
    served_graph,
)
from tests.features.server.live import BASE, READ_ALL, running, serving_of
from tests.features.server.requests import ADD

SAMPLE = ("cluster_mutate", "cluster_mutate_if_graph_commit", "cluster_load", "merge", "loadAsJob")
"""Verbs for one kill; the long run kills every one of them several times."""


def test_every_verb_that_writes_is_killed() -> None:
    assert {"cluster_mutate", "cluster_load", "merge", "revert", "loadArrow", "loadAsJob", "optimize"} <= {*WRITING}
    assert {"cluster_invoke_query_if_graph_commit", "cluster_applySchema", "cluster_deleteBranch"} <= {*WRITING}
    assert "cluster_query" not in WRITING


def test_nothing_acknowledged_is_lost_and_the_next_start_needs_no_repair(tmp_path: Path) -> None:
    path, queries = served_graph(tmp_path)
    server = Server(path, queries=queries)
    loads = [Load(server, path, name, 1, f"v{number}") for number, name in enumerate(SAMPLE)]
    for load in loads:
        load.wait_for(1)
    server.kill()
    for load in loads:
        load.join()
    check(path, loads)
    with running(serving_of(omnigraph.open(path))) as live, live.client() as client:
        body = {"query": ADD, "params": {"name": "after"}}
        assert client.post(f"{BASE}/mutate", json=body).status_code == 200
        assert client.get(f"{BASE}/branches").status_code == 200
        check_jobs(client, path, loads)


@pytest.mark.long
@pytest.mark.part("server-kills")
@pytest.mark.parametrize("name", WRITING)
def test_a_front_that_is_killed_at_any_moment_of_any_verb_loses_nothing(tmp_path: Path, name: str) -> None:
    path, queries = served_graph(tmp_path)
    moments = random.Random(name)
    loads = []
    for kill in range(3):
        server = Server(path, kill % 2, queries)
        load = Load(server, path, name, 1 if name in ALONE else 8, f"k{kill}")
        load.wait_for(1)
        time.sleep(moments.random() * 0.5)
        readers = reader_pids(server.pid)
        server.kill()
        load.join()
        loads.append(load)
        check(path, [load])
        ends = time.monotonic() + 30
        while any(os.path.exists(f"/proc/{pid}") for pid in readers):
            assert time.monotonic() < ends, "readers end with their front"
            time.sleep(0.05)
    with running(serving_of(omnigraph.open(path))) as live, live.client() as client:
        check_jobs(client, path, loads)
    print(f"{name}: {sum(len(load.acknowledged) for load in loads)} acknowledged, nothing lost by 3 kills")


@pytest.mark.long
@pytest.mark.part("server-kills")
@pytest.mark.parametrize("name", WRITING)
def test_a_reader_that_is_killed_during_any_verb_harms_no_write_and_no_other_read(tmp_path: Path, name: str) -> None:
    path, queries = served_graph(tmp_path)
    server = Server(path, 2, queries)
    load = Load(server, path, name, 1 if name in ALONE else 4, "r")
    statuses: list[int] = []
    kills = 0
    with server.client() as client:

        def read() -> None:
            # Not a read of one key: that would be answered without a reader.
            response = client.post(f"{BASE}/query", json={"query": READ_ALL})
            statuses.append(response.status_code)

        for _ in range(3):
            load.wait_for(len(load.acknowledged) + 1)
            for pid in reader_pids(server.pid)[:1]:
                os.kill(pid, signal.SIGKILL)
                kills += 1
            for _ in range(10):
                read()
        ends = time.monotonic() + 60
        while statuses[-1] != 200:
            assert time.monotonic() < ends, "readers are started again"
            time.sleep(0.1)
            read()
    try:
        assert kills
        assert {*statuses} <= {200, 503}
    finally:
        server.kill()
    load.join()
    check(path, [load])
    counted = Counter(statuses)
    print(f"{name}: {len(load.acknowledged)} acknowledged, nothing lost by {kills} killed readers; reads {counted}")
