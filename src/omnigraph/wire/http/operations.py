"""JSON forms for operators and gateways: readiness, and the metadata of a protected resource."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def readiness_json(reasons: Sequence[str]) -> dict[str, Any]:
    """The readiness of a server; ``reasons`` say why it is not ready."""
    return {"status": "not_ready", "reasons": list(reasons)} if reasons else {"status": "ready"}


def resource_metadata_json(resource: str, issuer: str) -> dict[str, Any]:
    """The metadata of a protected resource, as RFC 9728 has it."""
    return {
        "resource": resource,
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Omnigraph",
    }
