"""JSON forms for operators and gateways: readiness, status, and the metadata of a protected resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol


class LatencyFacts(Protocol):
    """Requests of one route; times are in seconds."""

    @property
    def route(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def errors(self) -> int: ...
    @property
    def p50(self) -> float: ...
    @property
    def p95(self) -> float: ...
    @property
    def p99(self) -> float: ...


def readiness_json(reasons: Sequence[str]) -> dict[str, Any]:
    """The readiness of a server; ``reasons`` say why it is not ready."""
    return {"status": "not_ready", "reasons": list(reasons)} if reasons else {"status": "ready"}


def status_json(
    version: str, reasons: Sequence[str], latencies: Iterable[LatencyFacts], quarantined: Mapping[str, str]
) -> dict[str, Any]:
    """The state of a server: readiness, latencies of the last hour, and graphs that it does not serve."""
    return {
        "version": version,
        **readiness_json(reasons),
        "latencies": [
            {
                "route": item.route,
                "count": item.count,
                "errors": item.errors,
                "p50_ms": round(item.p50 * 1000, 1),
                "p95_ms": round(item.p95 * 1000, 1),
                "p99_ms": round(item.p99 * 1000, 1),
            }
            for item in latencies
        ],
        "quarantined": [{"graph_id": name, "reason": reason} for name, reason in sorted(quarantined.items())],
    }


def resource_metadata_json(resource: str, issuer: str) -> dict[str, Any]:
    """The metadata of a protected resource, as RFC 9728 has it."""
    return {
        "resource": resource,
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Omnigraph",
    }
