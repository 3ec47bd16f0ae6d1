"""Requests made from our own OpenAPI document: every operation keeps to what it declares, whatever it is given."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from omnigraph import Graph
from omnigraph.server.routes.table import DOCUMENTED
from tests.features.server.conftest import STORED, small_graph
from tests.features.server.live import READ_ALL, Live, queries_of, running, serving_of

IDS = [route.operation.id for route in DOCUMENTED]
NAMES = {"branch": "dev", "graph_id": "kb", "name": "everyone", "entity": "node", "type": "Person", "id": "ann"}
TEXTS = {"query": READ_ALL, "query_source": READ_ALL, "source": "dev", "target": "main", "branch": "dev", "name": None}
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


@schemathesis.serializer("application/x-ndjson", "application/vnd.apache.arrow.stream")
def lines(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """Bytes of a load: made up, as JSON where they have a form."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph of its own: requests change it as they like."""
    return small_graph(tmp_path_factory.mktemp("contract") / "kb.omni")


@pytest.fixture(scope="module")
def live(graph: Graph) -> Iterator[Live]:
    with running(serving_of(graph, queries=queries_of(graph, *STORED))) as live:
        yield live


@pytest.fixture(scope="module")
def operations(live: Live) -> dict[str, Any]:
    """The operations of the document, by id."""
    with live.client() as client:
        document = client.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    found = [result.ok() for result in schema.get_all_operations()]
    return {operation.definition.raw["operationId"]: operation for operation in found}


def send(client: httpx2.Client, data: st.DataObject, operation: Any, commit: str) -> None:
    case = data.draw(operation.as_strategy())
    # Most requests meet data: names that exist, beside those that were made up.
    for place in (case.path_parameters, case.query):
        for name in list(place or ()):
            known = commit if name in ("commit_id", "snapshot") else NAMES.get(name)
            if known is not None and data.draw(st.booleans()):
                place[name] = known
    if isinstance(case.body, dict):
        for name in case.body.keys() & TEXTS.keys():
            if TEXTS[name] is not None and data.draw(st.booleans()):
                case.body[name] = TEXTS[name]
    # Requests are sent by schemathesis itself, because it knows how to write what it made.
    response = case.call(base_url=str(client.base_url), timeout=60)
    case.validate_response(response, checks=CHECKS)


def run(live: Live, graph: Graph, operation: Any, examples: int) -> None:
    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(st.data())
    def requests(data: st.DataObject) -> None:
        with live.client() as client:
            send(client, data, operation, commit)

    if "dev" not in [branch.name for branch in graph.branches()]:
        graph.create_branch("dev")
    commit = graph.snapshot().commit_id
    requests()


@pytest.mark.parametrize("name", IDS)
def test_every_operation_answers_as_it_declares(
    live: Live, graph: Graph, operations: dict[str, Any], name: str
) -> None:
    run(live, graph, operations[name], 6)


@pytest.mark.long
@pytest.mark.parametrize("name", IDS)
def test_every_operation_answers_many_requests_as_it_declares(
    live: Live, graph: Graph, operations: dict[str, Any], name: str
) -> None:
    run(live, graph, operations[name], 300)


def test_every_operation_of_the_document_is_tried(operations: dict[str, Any]) -> None:
    assert set(operations) == set(IDS)
