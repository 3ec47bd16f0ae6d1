"""Standard input and output in front of the tools of a server: for clients that start a program, and for its tokens.

The server decides about tools, writes and merges; nothing is answered here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import anyio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from omnigraph.client.addresses import RemoteAddress, token_of
from omnigraph.client.transport import Request, Transport, async_client
from omnigraph.mcp.server import INSTRUCTIONS

ACCEPTED = "application/json, text/event-stream"


@dataclass(frozen=True, slots=True)
class Forwarding:
    """The requests of the protocol, passed on to a server as they are."""

    client: Client

    async def list_tools(self, _: Any, given: PaginatedRequestParams | None) -> ListToolsResult:
        """The tools of the server."""
        return await self.client.list_tools(cursor=_cursor(given))

    async def call_tool(self, _: Any, given: CallToolRequestParams) -> CallToolResult:
        """The answer of the server."""
        return await self.client.call_tool(given.name, given.arguments)

    async def list_resources(self, _: Any, given: PaginatedRequestParams | None) -> ListResourcesResult:
        """The resources of the server."""
        return await self.client.list_resources(cursor=_cursor(given))

    async def list_templates(self, _: Any, given: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        """The templates of the server."""
        return await self.client.list_resource_templates(cursor=_cursor(given))

    async def read_resource(self, _: Any, given: ReadResourceRequestParams) -> ReadResourceResult:
        """The text of a resource."""
        return await self.client.read_resource(str(given.uri))

    async def list_prompts(self, _: Any, given: PaginatedRequestParams | None) -> ListPromptsResult:
        """The prompts of the server."""
        return await self.client.list_prompts(cursor=_cursor(given))

    async def get_prompt(self, _: Any, given: GetPromptRequestParams) -> GetPromptResult:
        """The text of a prompt."""
        return await self.client.get_prompt(given.name, given.arguments)


def _cursor(given: PaginatedRequestParams | None) -> str | None:
    return None if given is None else given.cursor


def forwarding_server(client: Client, version: str) -> Server[Any]:
    """A server that passes every request on."""
    ahead = Forwarding(client)
    return Server(
        "omnigraph",
        version=version,
        instructions=client.instructions or INSTRUCTIONS,
        on_list_tools=ahead.list_tools,
        on_call_tool=ahead.call_tool,
        on_list_resources=ahead.list_resources,
        on_list_resource_templates=ahead.list_templates,
        on_read_resource=ahead.read_resource,
        on_list_prompts=ahead.list_prompts,
        on_get_prompt=ahead.get_prompt,
    )


def _check(address: RemoteAddress, token: str | None) -> None:
    """Ask for the tools once: the library would wrap a refused token or connection in errors of its own."""
    transport = Transport(address, token)
    try:
        body = {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}
        transport.fetch(Request("POST", "/mcp", json=body, headers={"accept": ACCEPTED}))
    finally:
        transport.close()


def serve_remote(uri: str, version: str) -> None:
    """Answer requests with the tools of a graph behind a server, until the caller closes standard input."""
    address = RemoteAddress.of(uri)
    token = token_of(None, address)
    _check(address, token)

    async def run() -> None:
        async with async_client(address, token) as http:
            transport = streamable_http_client(f"{address.uri}/mcp", http_client=http)
            async with Client(transport) as client, stdio_server() as (incoming, outgoing):
                server = forwarding_server(client, version)
                await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)
