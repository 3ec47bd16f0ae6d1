"""One set of storage options for two clients: what Lance takes as it is, sorted for the client of small objects.

Lance's client ignores options it does not know, ours refuses them, and it takes those about connections and retries
apart from those about S3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

_FLAGS = frozenset({"allow_http", "allow_invalid_certificates", "http1_only", "http2_only", "randomize_addresses"})
_CONNECTION = frozenset(
    {"connect_timeout", "timeout", "pool_idle_timeout", "pool_max_idle_per_host", "proxy_url", "user_agent"}
)
_RENAMED = {"request_timeout": "timeout"}
_LANCE_ALONE = frozenset({"download_retry_count", "client_max_retries", "client_retry_timeout"})
"""Options of Lance's own that mean nothing to an S3 client, and those that are taken up as the retry policy."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Options by what they are about."""

    config: dict[str, str]
    client: dict[str, Any]
    retry: dict[str, Any] | None


def split_options(options: Mapping[str, str], environment: Mapping[str, str]) -> ClientOptions:
    """Sort the options a user gave. The client finds all but ``AWS_ALLOW_HTTP`` in the environment by itself."""
    known = {key.lower(): value for key, value in options.items()}
    known.setdefault("allow_http", known.pop("aws_allow_http", environment.get("AWS_ALLOW_HTTP", "")))
    config: dict[str, str] = {}
    client: dict[str, Any] = {}
    for key, value in known.items():
        name = _RENAMED.get(key, key)
        if name in _FLAGS:
            client[name] = value.lower() == "true"
        elif name in _CONNECTION:
            client[name] = value
        elif name not in _LANCE_ALONE:
            config[name] = value
    return ClientOptions(config, client, _retry(known))


def _retry(known: Mapping[str, str]) -> dict[str, Any] | None:
    retry: dict[str, Any] = {}
    if "client_max_retries" in known:
        retry["max_retries"] = int(known["client_max_retries"])
    if "client_retry_timeout" in known:
        retry["retry_timeout"] = timedelta(seconds=float(known["client_retry_timeout"]))
    return retry or None
