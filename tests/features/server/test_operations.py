"""What operators see: metrics with closed labels, readiness, JSON lines with request ids, and spans."""

import json
import logging
import re
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from omnigraph import Actor, Graph
from omnigraph.core.actors import Action
from omnigraph.server.access.states import State
from omnigraph.server.operations.latencies import SECONDS_MAX, Latencies
from omnigraph.server.operations.metrics import UNKNOWN, Metrics
from omnigraph.server.routes.table import ROUTES
from tests.features.server.live import BASE, READ_ALL, Live, running, serving_of
from tests.features.server.test_matrix import Rules

LABELS = re.compile(r"^(\w+)\{([^}]*)\} ", re.MULTILINE)
OWN_ROUTES = {"GET /metrics", "GET /readyz", "GET /status", "GET /.well-known/oauth-protected-resource", UNKNOWN}


@pytest.fixture(scope="module")
def live(graph: Graph) -> Iterator[Live]:
    """A server whose token may do everything."""
    with running(serving_of(graph, tokens={"owner": "t"}, state=State.OWNER)) as live:
        yield live


@pytest.fixture(scope="module")
def client(live: Live) -> Iterator[httpx2.Client]:
    with live.client("t") as client:
        yield client


def settle(client: httpx2.Client) -> None:
    """Wait until the server has logged what it answered: a request ends after its answer, before the next begins."""
    client.get("/healthz")


def labels(text: str) -> list[tuple[str, dict[str, str]]]:
    """The metrics of this project with their labels."""
    found = [(name, dict(re.findall(r'(\w+)="([^"]*)"', given))) for name, given in LABELS.findall(text)]
    return [(name, given) for name, given in found if name.startswith("omnigraph_")]


def test_metrics_count_requests_and_no_client_can_make_a_label(client: httpx2.Client, graph: Graph) -> None:
    secret = "s3cret"
    client.post(f"{BASE}/query", json={"query": READ_ALL, "branch": "dev"})
    client.get(f"{BASE}/snapshot", params={"branch": secret})
    client.get(f"/graphs/{secret}/snapshot")
    client.get(f"/graphs/{secret}%0aforged/snapshot")
    client.get(f"/{secret}")
    client.request(secret.upper(), f"{BASE}/branches")
    client.get(f"{BASE}/branches", headers={"authorization": f"Bearer {secret}"})
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert secret not in response.text.lower()
    routes = {f"{route.operation.method} {route.operation.path}" for route in ROUTES} | OWN_ROUTES
    for name, given in labels(response.text):
        assert set(given) <= {"route", "status", "graph", "le", "reason"}, name
        assert given.get("graph", "") in ("", "kb")
        assert given.get("route", UNKNOWN) in routes
        assert given.get("status", "200") in ("200", "400", "401", "404", "405")
    sample = 'omnigraph_http_requests_total{graph="kb",route="POST /graphs/{graph_id}/query",status="200"} 1.0'
    assert sample in response.text
    for name in ("process_resident_memory_bytes", "process_open_fds", "omnigraph_http_requests_running 1.0"):
        assert name in response.text


def test_metrics_are_for_those_who_may_list_the_graphs(graph: Graph) -> None:
    rules = Rules()
    serving = serving_of(graph, tokens={"ann": "t"}, state=State.POLICY_ENABLED, server_policy=rules)
    with running(serving) as live, live.client() as anyone, live.client("t") as ann:
        assert anyone.get("/metrics").status_code == 401
        assert ann.get("/metrics").status_code == 200
        rules.denied = frozenset({Action.GRAPH_LIST})
        assert ann.get("/metrics").status_code == 403
    with running(serving_of(graph)) as live, live.client() as anyone:
        assert anyone.get("/metrics").status_code == 403, "an open server does not list its graphs either"


def test_metrics_have_a_port_of_their_own_for_scrapers() -> None:
    metrics = Metrics()
    metrics.began()
    metrics.ended("GET", "/healthz", 200, None, 0.01)
    metrics.watch("omnigraph_readers", "Readers.", lambda: 2)
    port = metrics.serve("127.0.0.1", 0)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
        text = response.read().decode()
    assert 'omnigraph_http_requests_total{graph="",route="GET /healthz",status="200"} 1.0' in text
    assert "omnigraph_readers 2.0" in text
    metrics.close()


def test_health_and_readiness_need_no_token(live: Live) -> None:
    with live.client() as anyone:
        assert anyone.get("/healthz").json()["status"] == "ok"
        assert anyone.get("/readyz").json() == {"status": "ready"}
        assert anyone.head("/readyz").status_code == 200
        assert anyone.post("/readyz").status_code == 405


class Unready:
    """A runner without anything to run on."""

    is_ready = False


def test_a_server_that_cannot_serve_is_not_ready_and_says_why(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live.app, "runner", Unready())
    with live.client() as anyone:
        # The answer itself is sent by the event loop, without the runner.
        response = anyone.get("/readyz")
    assert (response.status_code, response.json()) == (503, {"status": "not_ready", "reasons": ["no reader runs"]})


def test_every_request_is_one_record_without_data(client: httpx2.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "omnigraph.server"):
        client.get(f"{BASE}/branches/s3cret%0Aforged", headers={"x-actor": "s3cret"})
        client.get("/graphs/s3cret%0Aforged/branches", params={"x": "s3cret"})
        response = client.post(f"{BASE}/query", json={"query": READ_ALL, "branch": "s3cret"})
        settle(client)
    records = [record for record in caplog.records if record.name == "omnigraph.server"][:3]
    assert "s3cret" not in caplog.text
    facts = getattr(records[-1], "facts")  # noqa: B009 # set by `extra`
    assert (facts["method"], facts["route"], facts["graph"]) == ("POST", "/graphs/{graph_id}/query", "kb")
    assert facts["status"] == 404
    assert re.fullmatch(r"[0-9A-Z]{26}-[0-9]+", facts["request"])
    assert json.dumps(facts)
    assert "x-request-id" not in response.headers, "0.10 has no such header"


def test_an_internal_error_has_its_request_id_in_the_body_and_in_the_log(
    graph: Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Rules):
        def check(self, actor: Actor, *arguments: object, **options: object) -> None:
            raise ZeroDivisionError("s3cret")

    serving = serving_of(graph, tokens={"ann": "t"}, authorizer=Broken(), state=State.POLICY_ENABLED)
    with running(serving) as live, live.client("t") as client:
        response = client.post(f"{BASE}/query", json={"query": READ_ALL})
        settle(client)
    body = response.json()
    assert (response.status_code, body["error"]) == (500, "internal error")
    assert "s3cret" not in response.text
    assert f"request {body['problem']['request_id']} failed: ZeroDivisionError" in caplog.text


def test_a_request_is_a_span_around_the_spans_of_the_graph(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    # The process has no provider of its own.
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    with live.client("t") as client:
        caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        client.post(f"{BASE}/query", json={"query": READ_ALL}, headers={"traceparent": caller})
        settle(client)
    spans = {span.name: span for span in reversed(exporter.get_finished_spans())}
    request, query = spans["omnigraph.http"], spans["omnigraph.query"]
    assert format(request.context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"
    assert query.parent is not None
    assert query.parent.span_id == request.context.span_id
    assert request.attributes is not None
    assert request.attributes["http.route"] == "/graphs/{graph_id}/query"
    assert request.attributes["http.response.status_code"] == 200


def test_the_status_shows_latencies_of_the_last_hour_and_graphs_that_are_not_served(graph: Graph) -> None:
    serving = replace(
        serving_of(graph, tokens={"owner": "t"}, state=State.OWNER), quarantined={"old": "no graph there"}
    )
    with running(serving) as live, live.client("t") as client:
        client.post(f"{BASE}/query", json={"query": READ_ALL})
        settle(client)
        status = client.get("/status").json()
        assert client.get("/status", headers={"authorization": "Bearer x"}).status_code == 401
    query = next(item for item in status["latencies"] if item["route"] == "POST /graphs/{graph_id}/query")
    assert (query["count"], query["errors"]) == (1, 0)
    assert 0 < query["p50_ms"] <= query["p95_ms"] <= query["p99_ms"]
    assert status["quarantined"] == [{"graph_id": "old", "reason": "no graph there"}]
    assert status["status"] == "ready"


def test_latencies_forget_what_is_older_than_an_hour() -> None:
    now = [0.0]
    latencies = Latencies(lambda: now[0])
    for seconds in (0.01, 0.02, 0.03, 9.0):
        latencies.ended("GET /x", 200, seconds)
    now[0] = 30 * 60
    latencies.ended("GET /x", 503, 500.0)
    (whole,) = latencies.summary()
    assert (whole.count, whole.errors) == (5, 1)
    assert 0.02 <= whole.p50 <= 0.045
    assert whole.p99 == SECONDS_MAX[-1]
    now[0] = 61 * 60
    (recent,) = latencies.summary()
    assert (recent.count, recent.errors) == (1, 1)
    now[0] = 3 * 3600
    assert latencies.summary() == []


def test_a_status_needs_the_right_to_list_graphs(graph: Graph) -> None:
    rules = Rules(denied=frozenset({Action.GRAPH_LIST}))
    serving = serving_of(graph, tokens={"ann": "t"}, state=State.POLICY_ENABLED, authorizer=rules, server_policy=rules)
    with running(serving) as live, live.client("t") as client:
        assert client.get("/status").status_code == 403
