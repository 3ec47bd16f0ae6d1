"""Telemetry: spans if the application traces, and no overhead if it does not."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import omnigraph
from omnigraph.errors import NotFoundError

SCHEMA = "node Person {\n  name: String @key\n}\n"
COUNT = "query q() { match { $p: Person } return { count($p) as n } }"


@pytest.fixture(scope="module")
def spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


def test_every_call_is_a_span_with_the_graph_and_its_outcome(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "graph", SCHEMA)
    spans.clear()
    graph.load([{"type": "Person", "data": {"name": "Ada"}}], "append", actor="ann")
    graph.query(COUNT, branch="main")
    with pytest.raises(NotFoundError):
        graph.query(COUNT, branch="nowhere")
    load, query, failed = spans.get_finished_spans()
    assert [span.name for span in (load, query, failed)] == ["omnigraph.load", "omnigraph.query", "omnigraph.query"]
    assert query.attributes == {"omnigraph.graph": graph.uri, "omnigraph.branch": "main"}
    assert query.status.status_code is StatusCode.UNSET
    assert failed.status.status_code is StatusCode.ERROR


def test_records_are_made_only_for_those_who_listen(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    graph = omnigraph.create(tmp_path / "graph", SCHEMA)
    graph.query(COUNT)
    assert caplog.records == []
    with caplog.at_level(logging.INFO, logger="omnigraph"):
        graph.query(COUNT)
    (record,) = caplog.records
    assert record.getMessage().startswith("query done ms=")


def test_a_program_that_does_not_trace_loads_nothing_for_it(tmp_path: Path) -> None:
    program = (
        f"import sys, omnigraph; graph = omnigraph.create({str(tmp_path / 'graph')!r}, {SCHEMA!r});"
        f"graph.query({COUNT!r}); assert 'opentelemetry' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_program_that_only_loads_the_interface_makes_no_spans(tmp_path: Path) -> None:
    program = (
        "import opentelemetry.trace as trace, omnigraph\n"
        "def refuse(*given, **named): raise AssertionError('a span without a provider')\n"
        "trace.ProxyTracer.start_as_current_span = trace.NoOpTracer.start_as_current_span = refuse\n"
        f"graph = omnigraph.create({str(tmp_path / 'graph')!r}, {SCHEMA!r})\n"
        f"graph.query({COUNT!r})\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
