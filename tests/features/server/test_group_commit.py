"""Writes of several HTTP clients on one branch are published together: one swap, and a commit for each."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import omnigraph
from omnigraph.server.access.states import DefaultDeny, State
from tests.features.server.live import BASE, running, serving_of
from tests.features.server.test_matrix import Rules
from tests.features.server.test_readers import until
from tests.support.queues import held_door

ADD = "query add($t: String) { insert Note {text: $t} }"
WRITES = 8


def test_writes_of_different_actors_share_a_swap(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "kb.omni", "node Note { text: String }", durability="os")
    tokens = {f"a{number}": f"t{number}" for number in range(WRITES)}
    serving = serving_of(graph, tokens=tokens, authorizer=Rules(), state=State.POLICY_ENABLED)
    before = graph.snapshot().state
    with running(serving) as live, ThreadPoolExecutor(WRITES) as pool:

        def write(token: str) -> tuple[int, str]:
            with live.client(token) as client:
                response = client.post(f"{BASE}/mutate", json={"query": ADD, "params": {"t": token}})
                return response.status_code, response.json()["commit"]["actor_id"]

        with held_door(graph) as waiting:
            writing = [pool.submit(write, token) for token in tokens.values()]
            until(lambda: waiting() == WRITES)
        answers = [item.result() for item in writing]
    after = graph.snapshot().state
    assert sorted(answers) == [(200, actor) for actor in sorted(tokens)]
    assert len(list(graph.commits())) == 1 + WRITES
    assert after.version - before.version == 1, "one swap published all of them"


def test_a_denied_writer_is_in_no_group(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "kb.omni", "node Note { text: String }", durability="os")
    serving = serving_of(graph, tokens={"ann": "t"}, authorizer=DefaultDeny(), state=State.DEFAULT_DENY)
    with running(serving) as live, live.client("t") as client:
        assert client.post(f"{BASE}/mutate", json={"query": ADD, "params": {"t": "x"}}).status_code == 403
    assert len(list(graph.commits())) == 1
