"""The server over HTTP: stateless, with one JSON answer a request, so that any process can answer any request."""

from __future__ import annotations

from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from omnigraph.mcp.server import make_server
from omnigraph.mcp.session import Session

BODY_BYTES_MAX = 1 << 20


async def serve_request(session: Session, version: str, scope: Any, receive: Any, send: Any) -> None:
    """Answer one ASGI request with the tools of a session. The caller has checked token, host and origin."""
    manager = StreamableHTTPSessionManager(
        make_server(lambda _: session, version),
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=BODY_BYTES_MAX,
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)
