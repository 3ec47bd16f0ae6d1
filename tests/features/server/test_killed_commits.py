"""A server that is killed right before or right after the commit of a request, and the same request to the next one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import httpx2
import pytest

import omnigraph
from omnigraph import Graph
from tests.features.server.conftest import STORED
from tests.features.server.kills import WRITING, Server, Turn, commits_of, mentions, served_graph
from tests.features.server.live import queries_of, running, serving_of
from tests.features.server.requests import ADD, SAMPLES, settled
from tests.features.server.served_process import MOMENTS

COMMITTING = tuple(name for name in WRITING if name not in ("cleanup", "verify"))
"""The operations that commit; the samples of the others change nothing."""
SAMPLE = [("cluster_mutate", "after"), ("cluster_mutate_if_graph_commit", "after"), ("loadAsJob", "before")]
MADE = {"cluster_createBranch": 409, "cluster_deleteBranch": 404}
"""The answers to a repeated request that was carried out. Operations on names have no commit that a key could find."""
TURN = Turn("once")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    graph = omnigraph.open(served_graph(folder)[0])
    for name in ("fay", "gus"):
        # Small fragments, for optimize to compact.
        graph.mutate(ADD, {"name": name, "age": 1})
    graph.create_branch(TURN.spare)
    graph.mutate(ADD, {"name": TURN.person, "age": 1}, branch=TURN.spare)
    return folder


def heads(path: Path) -> dict[str, str]:
    """The branches of a graph with their heads, as a fresh process finds them."""
    return {branch.name: branch.head for branch in omnigraph.open(path).branches()}


def send(client: httpx2.Client, name: str, options: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Status and answer of an operation; of a job, its result."""
    sample = SAMPLES[name]
    response = client.request(sample.method, TURN.of(sample.path), **options)
    if response.status_code != 202:
        return response.status_code, response.json()
    job = settled(client, response)
    assert job["state"] == "succeeded", job
    return 200, job["result"]


def request_of(name: str, graph: Graph) -> dict[str, Any]:
    options = TURN.options(name, SAMPLES[name], graph)
    if not mentions(SAMPLES[name].path, "branches") or name == "cluster_mergeBranches":
        options["headers"] = {**options.get("headers", {}), "idempotency-key": "the-only-one"}
    return options


def check(template: Path, folder: Path, name: str, moment: str) -> None:
    """Kill a server at a moment of a request, and send the request to the next one, twice."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    path, queries = folder / "kb.omni", folder / "stored.gq"
    options, before = request_of(name, omnigraph.open(path)), heads(path)
    server = Server(path, queries=queries, dies=moment)
    try:
        with server.client() as client, pytest.raises(httpx2.TransportError):
            send(client, name, options)
    finally:
        server.kill()
    left = heads(path)
    assert (left == before) is (moment == "before")
    graph = omnigraph.open(path)
    with running(serving_of(graph, queries=queries_of(graph, *STORED))) as live, live.client() as client:
        status, answer = send(client, name, options)
        assert status == (MADE.get(name, 200) if moment == "after" else 200), answer
        made = heads(path)
        assert made == left if moment == "after" else made != before
        again, repeated = send(client, name, options)
    assert again == MADE.get(name, 200), repeated
    assert commits_of(repeated) == commits_of(answer)
    assert heads(path) == made
    assert graph.verify().is_clean


@pytest.mark.parametrize(("name", "moment"), SAMPLE)
def test_a_request_whose_answer_was_lost_is_repeated_without_harm(
    template: Path, tmp_path: Path, name: str, moment: str
) -> None:
    check(template, tmp_path, name, moment)


@pytest.mark.long
@pytest.mark.part("server-kills")
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", COMMITTING)
def test_every_request_whose_answer_was_lost_is_repeated_without_harm(
    template: Path, tmp_path: Path, name: str, moment: str
) -> None:
    check(template, tmp_path, name, moment)
