"""Addresses of servers and of graphs behind them: ``https://host/graphs/kb``, or ``http://`` on this machine."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import quote, urlsplit

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import UsageError

SCHEMES: Final = ("http://", "https://")
HTTP_VARIABLE: Final = "OMNIGRAPH_ALLOW_HTTP"
"""Allows ``http://`` to other machines, for networks that encrypt by other means."""
GRAPHS: Final = "graphs"


def is_remote(uri: object) -> bool:
    """True for the address of a server, or of a graph behind one."""
    return isinstance(uri, str) and uri.lower().startswith(SCHEMES)


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """The address of a graph or of a server, without a slash at its end."""

    uri: str

    @classmethod
    def of(cls, uri: str) -> RemoteAddress:
        """Read the address of a graph.

        Raises UsageError for an address that names no graph, or that would send a token in the clear.
        """
        base, segments = _read(uri)
        if not _names_graph(segments):
            raise UsageError(f"{uri!r} names no graph of the server", hint='like "https://host/graphs/kb"')
        return cls("/".join([base, *segments]))

    @classmethod
    def of_server(cls, uri: str) -> RemoteAddress:
        """Read the address of a server; the address of a graph gives that of its server. Raises UsageError."""
        base, segments = _read(uri)
        kept = segments[:-2] if _names_graph(segments) else segments
        return cls("/".join([base, *kept]))

    def graph(self, graph_id: str) -> str:
        """The address of a graph of this server."""
        return f"{self.uri}/{GRAPHS}/{segment(graph_id, 'graph')}"


def graph_named_by(uri: str) -> str | None:
    """The id of the graph that an address names; None for the address of a server."""
    segments = _read(uri)[1]
    return segments[-1] if _names_graph(segments) else None


def _names_graph(segments: list[str]) -> bool:
    return len(segments) >= 2 and segments[-2] == GRAPHS


def _read(uri: str) -> tuple[str, list[str]]:
    """The scheme and host of an address, and the segments of its path."""
    parts = urlsplit(uri)
    if parts.query or parts.fragment or parts.username or parts.password or not parts.hostname:
        raise UsageError(
            f"{_without_secrets(uri)!r} is not the address of a graph",
            hint='like "https://host/graphs/kb"; a token is an argument: token="..."',
        )
    if parts.scheme == "http" and not _is_loopback(parts.hostname) and not os.environ.get(HTTP_VARIABLE):
        raise UsageError(
            f"{uri!r} would send the token and the data unencrypted",
            hint="use https://; http:// is allowed on this machine (127.0.0.1, localhost), for other machines with "
            f"{HTTP_VARIABLE}=1",
        )
    return f"{parts.scheme}://{parts.netloc}", [segment for segment in parts.path.split("/") if segment]


def _without_secrets(uri: str) -> str:
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _is_loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def token_of(given: str | None, address: RemoteAddress) -> str | None:
    """The token of the caller, otherwise that of the environment or of the operator's logins."""
    from omnigraph.config.credentials import find_token

    found = find_token(address.uri, os.environ) if given is None else given
    return None if found is None else checked_token(found)


def checked_token(text: str) -> str:
    """A token without white space around it; raises UsageError for one that no header can hold."""
    found = text.strip()
    if not found or not found.isascii() or not found.isprintable() or " " in found:
        raise UsageError(
            "the token is not one word of printable ASCII", hint="copy it again from the server's operator"
        )
    return found


def segment(name: str, what: str) -> str:
    """A name as one segment of a path. Empty ones and dots would change the path, and so the operation."""
    if name.strip() in ("", ".", ".."):
        raise UsageError(f"{name!r} is not the name of a {what}", hint=f"give the name of a {what}")
    return quote(name, safe="")
