"""Routes that operators and gateways use: readiness, metrics, status, and the metadata of the protected resource.

Omnigraph 0.10 has none of them, and they are no operations on graphs, so the OpenAPI document leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import omnigraph
from omnigraph.server.auth.verifying import METADATA_PATH
from omnigraph.server.call import Call
from omnigraph.server.handlers.graphs import list_needs
from omnigraph.server.http.refusals import Rejection
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.operations.latencies import Latencies
from omnigraph.server.operations.metrics import CONTENT_TYPE, Metrics
from omnigraph.server.roads import OPEN, Gate, Lane, Road
from omnigraph.server.routes.rows import Route
from omnigraph.wire.http.openapi import Operation
from omnigraph.wire.http.operations import readiness_json, resource_metadata_json, status_json

Readiness = Callable[[], Sequence[str]]
"""The reasons why a server is not ready; none if it is."""


def operating_routes(metrics: Metrics, readiness: Readiness, latencies: Latencies) -> tuple[Route, ...]:
    """The rows of one server."""

    def ready(call: Call, _: None) -> Reply:
        reasons = readiness()
        return json_reply(readiness_json(reasons), 503 if reasons else 200)

    def measured(call: Call, _: None) -> Reply:
        return Reply(200, metrics.text(), CONTENT_TYPE)

    def status(call: Call, _: None) -> Reply:
        form = status_json(omnigraph.__version__, readiness(), latencies.summary(), call.serving.quarantined)
        return json_reply(form, headers={"cache-control": "no-store"})

    return (
        Route(_operation("/readyz", "readiness", is_secured=False), Road(OPEN, ready, Lane.LOOP)),
        # Labels name the graphs, so the metrics are for those who may list them.
        Route(_operation("/metrics", "metrics"), Road(Gate(list_needs, of_server=True), measured, Lane.LOOP)),
        Route(_operation("/status", "status"), Road(Gate(list_needs, of_server=True), status, Lane.LOOP)),
        Route(
            _operation(METADATA_PATH, "protectedResource", is_secured=False), Road(OPEN, _protected_resource, Lane.LOOP)
        ),
    )


def _protected_resource(call: Call, _: None) -> Reply:
    """The metadata of RFC 9728, which says where to get a token for this server."""
    verifier = call.serving.authenticator.jwt
    if verifier is None or verifier.settings.resource is None:
        raise Rejection(404)
    return json_reply(resource_metadata_json(verifier.settings.resource, verifier.settings.issuer))


def _operation(path: str, name: str, *, is_secured: bool = True) -> Operation:
    return Operation("GET", path, name, "operation", "", {}, is_secured=is_secured, is_addition=True)
