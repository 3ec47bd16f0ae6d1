"""``RemoteServer``: the server itself, as far as no single graph is concerned."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.client.transport import Request, Transport


@dataclass(frozen=True, slots=True)
class GraphEntry:
    """A graph of a server, with the address that the server has for its files."""

    graph_id: str
    uri: str


class RemoteServer:
    """A server of graphs. Threads may share it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    @property
    def uri(self) -> str:
        """The address of the server."""
        return self._transport.address.uri

    def graphs(self) -> list[GraphEntry]:
        """The graphs of the server, by id; raises PolicyDenied if the actor may not list them."""
        form = self._transport.form(Request("GET", "/graphs"))
        return [GraphEntry(item["graph_id"], item["uri"]) for item in form["graphs"]]

    def graph_uri(self, graph_id: str) -> str:
        """The address of a graph."""
        return self._transport.address.graph(graph_id)
