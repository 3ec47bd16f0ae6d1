"""Addresses of graphs behind a server: ``https://host/graphs/kb``, or ``http://`` on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from omnigraph.errors import UsageError

SCHEMES: Final = ("http://", "https://")
TOKEN_VARIABLE: Final = "OMNIGRAPH_TOKEN"
"""The token of remote graphs, if the caller gives none."""


def is_remote(uri: object) -> bool:
    """True for the address of a graph behind a server."""
    return isinstance(uri, str) and uri.lower().startswith(SCHEMES)


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """The address of a graph, without a slash at its end."""

    uri: str

    @classmethod
    def of(cls, uri: str) -> RemoteAddress:
        """Read an address; raises UsageError for one that names no graph, or that would send a token in the clear."""
        parts = urlsplit(uri)
        segments = [segment for segment in parts.path.split("/") if segment]
        if parts.query or parts.fragment or parts.username or parts.password or not parts.hostname:
            raise UsageError(
                f"{_without_secrets(uri)!r} is not the address of a graph",
                hint='like "https://host/graphs/kb"; a token is an argument: token="..."',
            )
        if len(segments) < 2 or segments[-2] != "graphs":
            raise UsageError(f"{uri!r} names no graph of the server", hint='like "https://host/graphs/kb"')
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            raise UsageError(
                f"{uri!r} would send the token and the data unencrypted",
                hint="use https://; http:// is allowed on this machine only (127.0.0.1, localhost)",
            )
        return cls(f"{parts.scheme}://{parts.netloc}/{'/'.join(segments)}")


def _without_secrets(uri: str) -> str:
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def token_of(given: str | None) -> str | None:
    """The token of the caller, otherwise that of the environment."""
    found = os.environ.get(TOKEN_VARIABLE, "").strip() or None if given is None else given.strip()
    if found is not None and (not found or not found.isascii() or not found.isprintable() or " " in found):
        raise UsageError(
            "the token is not one word of printable ASCII", hint="copy it again from the server's operator"
        )
    return found
