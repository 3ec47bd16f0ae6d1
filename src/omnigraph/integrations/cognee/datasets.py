"""A graph for each dataset of cognee, which its access control asks for (``ENABLE_BACKEND_ACCESS_CONTROL``)."""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import Any, Final
from uuid import UUID

from cognee.base_config import get_base_config
from cognee.infrastructure.databases.dataset_database_handler.dataset_database_handler_interface import (
    DatasetDatabaseHandlerInterface,
)

from omnigraph.errors import UsageError

PROVIDER: Final = "omnigraph"


class OmnigraphDatasets(DatasetDatabaseHandlerInterface):
    """Makes and deletes the graphs of datasets, which are directories below the system directory of cognee."""

    @classmethod
    async def create_dataset(cls, dataset_id: UUID | None, user: Any) -> dict[str, Any]:
        """The connection of a dataset. Its graph is created when it is first opened."""
        return {
            "graph_database_provider": PROVIDER,
            "graph_database_url": str(_directory(dataset_id)),
            "graph_database_name": str(dataset_id),
            "graph_database_key": "",
            "graph_dataset_database_handler": PROVIDER,
            "graph_database_connection_info": {},
        }

    @classmethod
    async def resolve_dataset_connection_info(cls, dataset_database: Any) -> Any:
        """The stored connection: a directory needs no credentials."""
        return dataset_database

    @classmethod
    async def delete_dataset(cls, dataset_database: Any) -> None:
        """Delete the graph of a dataset, with its history."""
        # The cache imports the registered providers.
        from cognee.infrastructure.databases.graph.get_graph_engine import graph_engine_cache

        if dataset_database.graph_database_name:
            await graph_engine_cache.aevict_for_database(dataset_database.graph_database_name)
        address = str(dataset_database.graph_database_url or "")
        if os.path.isabs(address):
            await asyncio.to_thread(shutil.rmtree, address, ignore_errors=True)


def _directory(dataset_id: UUID | None) -> str:
    root = get_base_config().system_root_directory
    if not os.path.isabs(root):
        raise UsageError(
            f"graphs of datasets need a local directory, and SYSTEM_ROOT_DIRECTORY is {root!r}",
            hint="set it to an absolute path, or set ENABLE_BACKEND_ACCESS_CONTROL to false",
        )
    return os.path.join(root, "databases", f"graph_{dataset_id}.omni")
