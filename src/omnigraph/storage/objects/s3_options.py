"""Translation of storage options: Lance takes them as they are, the client of small objects takes them by group.

Lance's client ignores unknown options. The client of small objects refuses them, and takes options of connections and
of retries separately from those of S3.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from omnigraph.core.classes.dataclass import dataclass

_FLAGS = frozenset({"allow_http", "allow_invalid_certificates", "http1_only", "http2_only", "randomize_addresses"})
_CONNECTION = frozenset(
    {"connect_timeout", "timeout", "pool_idle_timeout", "pool_max_idle_per_host", "proxy_url", "user_agent"}
)
_RENAMED = {"request_timeout": "timeout"}
_LANCE_ALONE = frozenset({"download_retry_count", "client_max_retries", "client_retry_timeout"})
"""Options that only Lance knows, and those that become the retry policy."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Options by group."""

    config: dict[str, str]
    client: dict[str, Any]
    retry: dict[str, Any] | None


def split_options(options: Mapping[str, str], environment: Mapping[str, str]) -> ClientOptions:
    """Group the user's options. The client itself reads every variable of the environment except ``AWS_ALLOW_HTTP``."""
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
