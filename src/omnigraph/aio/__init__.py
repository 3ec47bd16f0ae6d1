"""The verbs of a graph for asyncio: ``await omnigraph.aio.open(...)`` returns an ``AsyncGraph``.

The engine blocks; here it works on threads, so that the event loop never does. Cancelling a task cancels its query.
"""

from omnigraph.aio.graph import AsyncGraph
from omnigraph.aio.opening import create, import_data, infer_schema, open, repair, restore
from omnigraph.aio.retry import retrying

__all__ = ["AsyncGraph", "create", "import_data", "infer_schema", "open", "repair", "restore", "retrying"]
