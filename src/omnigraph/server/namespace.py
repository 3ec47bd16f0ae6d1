"""The Lance namespace over REST, as an ASGI application: the paths of the interface's OpenAPI document.

A row of ``ROUTES`` is a method, a path and an operation of ``OmnigraphNamespace``. Requests are handed over as
dictionaries: the body, the query string, and the identifier of the path, which wins. Every answer has the JSON form of
the interface, also those to unknown paths and after unforeseen errors: clients parse nothing else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import unquote_plus

import lance_namespace as ln
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from omnigraph.namespace.adapter import OmnigraphNamespace
from omnigraph.namespace.failures import TableConflicts
from omnigraph.namespace.table_ids import DELIMITER
from omnigraph.server.run import bound

BODY_BYTES_MAX: Final = 16 * 1024 * 1024
"""Largest request body: a batch names files, it does not carry rows."""

DIGITS_MAX: Final = 20
"""Longest number in a query string: 64 bits and a sign."""

ROUTES: Final = (
    ("GET", "/v1/namespace/{id}/list", "list_namespaces"),
    ("POST", "/v1/namespace/{id}/describe", "describe_namespace"),
    ("POST", "/v1/namespace/{id}/exists", "namespace_exists"),
    ("POST", "/v1/namespace/{id}/create", "create_namespace"),
    ("POST", "/v1/namespace/{id}/drop", "drop_namespace"),
    ("GET", "/v1/namespace/{id}/table/list", "list_tables"),
    ("GET", "/v1/table", "list_all_tables"),
    ("POST", "/v1/table/batch-commit", "batch_commit_tables"),
    ("POST", "/v1/table/version/batch-create", "batch_create_table_versions"),
    ("POST", "/v1/table/{id}/describe", "describe_table"),
    ("POST", "/v1/table/{id}/exists", "table_exists"),
    ("POST", "/v1/table/{id}/count_rows", "count_table_rows"),
    ("POST", "/v1/table/{id}/version/list", "list_table_versions"),
    ("POST", "/v1/table/{id}/version/describe", "describe_table_version"),
    ("POST", "/v1/table/{id}/version/create", "create_table_version"),
    ("POST", "/v1/table/{id}/version/delete", "batch_delete_table_versions"),
    ("POST", "/v1/table/{id}/index/list", "list_table_indices"),
    ("POST", "/v1/table/{id}/index/{index_name}/stats", "describe_table_index_stats"),
    ("POST", "/v1/table/{id}/stats", "get_table_stats"),
    ("POST", "/v1/table/{id}/create", "create_table"),
    ("POST", "/v1/table/{id}/declare", "declare_table"),
    ("POST", "/v1/table/{id}/register", "register_table"),
    ("POST", "/v1/table/{id}/deregister", "deregister_table"),
    ("POST", "/v1/table/{id}/drop", "drop_table"),
    ("POST", "/v1/table/{id}/rename", "rename_table"),
    ("POST", "/v1/table/{id}/restore", "restore_table"),
    ("POST", "/v1/table/{id}/insert", "insert_into_table"),
    ("POST", "/v1/table/{id}/merge_insert", "merge_insert_into_table"),
    ("POST", "/v1/table/{id}/update", "update_table"),
    ("POST", "/v1/table/{id}/delete", "delete_from_table"),
    ("POST", "/v1/table/{id}/query", "query_table"),
    ("POST", "/v1/table/{id}/explain_plan", "explain_table_query_plan"),
    ("POST", "/v1/table/{id}/analyze_plan", "analyze_table_query_plan"),
    ("POST", "/v1/table/{id}/create_index", "create_table_index"),
    ("POST", "/v1/table/{id}/create_scalar_index", "create_table_scalar_index"),
    ("POST", "/v1/table/{id}/index/{index_name}/drop", "drop_table_index"),
    ("POST", "/v1/table/{id}/add_columns", "alter_table_add_columns"),
    ("POST", "/v1/table/{id}/alter_columns", "alter_table_alter_columns"),
    ("POST", "/v1/table/{id}/drop_columns", "alter_table_drop_columns"),
    ("POST", "/v1/table/{id}/backfill_column", "alter_table_backfill_columns"),
    ("POST", "/v1/table/{id}/schema_metadata/update", "update_table_schema_metadata"),
    ("POST", "/v1/table/{id}/update_field_metadata", "update_field_metadata"),
    ("POST", "/v1/table/{id}/tags/list", "list_table_tags"),
    ("POST", "/v1/table/{id}/tags/version", "get_table_tag_version"),
    ("POST", "/v1/table/{id}/tags/create", "create_table_tag"),
    ("POST", "/v1/table/{id}/tags/update", "update_table_tag"),
    ("POST", "/v1/table/{id}/tags/delete", "delete_table_tag"),
    ("POST", "/v1/table/{id}/branches/list", "list_table_branches"),
    ("POST", "/v1/table/{id}/branches/create", "create_table_branch"),
    ("POST", "/v1/table/{id}/branches/delete", "delete_table_branch"),
    ("POST", "/v1/materialized_view/{id}/create", "create_materialized_view"),
    ("POST", "/v1/materialized_view/{id}/refresh", "refresh_materialized_view"),
    ("POST", "/v1/transaction/{id}/describe", "describe_transaction"),
    ("POST", "/v1/transaction/{id}/alter", "alter_transaction"),
)

STATUS: Final[dict[ln.ErrorCode, int]] = {
    ln.ErrorCode.UNSUPPORTED: 406,
    ln.ErrorCode.NAMESPACE_NOT_FOUND: 404,
    ln.ErrorCode.NAMESPACE_ALREADY_EXISTS: 409,
    ln.ErrorCode.NAMESPACE_NOT_EMPTY: 409,
    ln.ErrorCode.TABLE_NOT_FOUND: 404,
    ln.ErrorCode.TABLE_ALREADY_EXISTS: 409,
    ln.ErrorCode.TABLE_INDEX_NOT_FOUND: 404,
    ln.ErrorCode.TABLE_INDEX_ALREADY_EXISTS: 409,
    ln.ErrorCode.TABLE_TAG_NOT_FOUND: 404,
    ln.ErrorCode.TABLE_TAG_ALREADY_EXISTS: 409,
    ln.ErrorCode.TRANSACTION_NOT_FOUND: 404,
    ln.ErrorCode.TABLE_VERSION_NOT_FOUND: 404,
    ln.ErrorCode.TABLE_COLUMN_NOT_FOUND: 404,
    ln.ErrorCode.INVALID_INPUT: 400,
    ln.ErrorCode.CONCURRENT_MODIFICATION: 409,
    ln.ErrorCode.PERMISSION_DENIED: 403,
    ln.ErrorCode.UNAUTHENTICATED: 401,
    ln.ErrorCode.SERVICE_UNAVAILABLE: 503,
    ln.ErrorCode.INTERNAL: 500,
    ln.ErrorCode.INVALID_TABLE_STATE: 409,
    ln.ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR: 400,
    ln.ErrorCode.THROTTLING: 429,
    ln.ErrorCode.TABLE_BRANCH_NOT_FOUND: 404,
    ln.ErrorCode.TABLE_BRANCH_ALREADY_EXISTS: 409,
}

_NUMBERS: Final = frozenset({"limit", "version"})
_FLAGS: Final = frozenset({"descending", "with_table_uri", "check_declared", "include_declared"})


def serve_namespace(namespace: OmnigraphNamespace, host: str, port: int, started: Callable[[str], None]) -> None:
    """Serve the namespace; ``started`` is called with the address once the port is bound."""
    listener = bound(host, port)
    started(f"http://{host}:{listener.getsockname()[1]}")
    server = uvicorn.Server(uvicorn.Config(namespace_app(namespace), log_level="warning"))
    asyncio.run(server.serve([listener]))


def namespace_app(namespace: OmnigraphNamespace) -> ASGIApp:
    """The application. A server mounts it below a path of its choice."""
    app = Starlette(
        routes=[
            Route(path, _endpoint(getattr(namespace, operation)), methods=[method])
            for method, path, operation in ROUTES
        ],
        exception_handlers={HTTPException: _not_routed, Exception: _unforeseen},
    )

    async def by_encoded_path(scope: Scope, receive: Receive, send: Send) -> None:
        # Names of branches contain slashes, which arrive encoded; decoded they would be separators of the path.
        path = scope.get("raw_path")
        await app({**scope, "path": path.decode("ascii")} if path else scope, receive, send)

    return by_encoded_path


def _endpoint(operation: Callable[[Any], Any]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            answer = await run_in_threadpool(operation, await _fields(request))
        except ln.LanceNamespaceError as error:
            return _refusal(error)
        if isinstance(answer, ln.CountTableRowsResponse):
            # The document of the interface has a bare number here.
            return JSONResponse(answer.count)
        return JSONResponse(_shown(answer))

    return endpoint


async def _not_routed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "the handler is registered for this class"
    refusal = ln.UnsupportedOperationError(f"the interface has no operation {request.method} {request.url.path}")
    return _refusal(refusal, error.status_code)


async def _unforeseen(_request: Request, _error: Exception) -> Response:
    # The server logs the error; its text may hold what a client must not see.
    return _refusal(ln.InternalError("the request failed for an unforeseen reason; the log of the server has it"))


def _shown(answer: Any) -> Any:
    """A response without credentials: a client brings its own options of the object store."""
    shown = json.loads(answer.model_dump_json(by_alias=True, exclude_none=True))
    shown.pop("storage_options", None)
    return shown


async def _fields(request: Request) -> dict[str, Any]:
    fields = await _body(request)
    for name, value in request.query_params.items():
        if name in _NUMBERS:
            fields.setdefault(name, _number(name, value))
        elif name in _FLAGS:
            fields.setdefault(name, value == "true")
        else:
            fields.setdefault(name, value)
    # Lance's REST client writes a space as '+', and a plus sign as '%2B', as all clients do.
    decoded = {name: unquote_plus(value) for name, value in request.path_params.items()}
    identifier = decoded.pop("id", None)
    fields |= decoded
    if identifier is not None:
        delimiter = request.query_params.get("delimiter") or DELIMITER
        fields["id"] = [] if identifier == delimiter else identifier.split(delimiter)
    return fields


async def _body(request: Request) -> dict[str, Any]:
    # Rows come as Arrow streams to operations that are refused, so such a body is not read.
    if "arrow" in request.headers.get("content-type", ""):
        return {}
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > BODY_BYTES_MAX:
            raise ln.InvalidInputError(f"the request is larger than {BODY_BYTES_MAX} bytes")
    if not content:
        return {}
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ln.InvalidInputError(f"the request is not JSON: {error}") from error
    if parsed is None:
        return {}
    if not isinstance(parsed, dict):
        raise ln.InvalidInputError("the request is not a JSON object")
    return parsed


def _number(name: str, value: str) -> int:
    if len(value) > DIGITS_MAX or not value.removeprefix("-").isdecimal():
        raise ln.InvalidInputError(f"{name} is {value!r}; expected a whole number")
    return int(value)


def _refusal(error: ln.LanceNamespaceError, status: int | None = None) -> Response:
    body: dict[str, Any] = {"error": str(error), "code": int(error.code)}
    if isinstance(error, TableConflicts):
        body["detail"] = json.dumps({"tables": error.tables})
    return JSONResponse(body, status_code=status or STATUS[error.code])
