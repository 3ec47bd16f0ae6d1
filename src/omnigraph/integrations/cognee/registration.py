"""Makes the provider known to cognee, which looks providers up by name."""

from __future__ import annotations

from cognee.infrastructure.databases.dataset_database_handler import use_dataset_database_handler
from cognee.infrastructure.databases.graph import use_graph_adapter

from omnigraph.integrations.cognee.adapter import OmnigraphAdapter
from omnigraph.integrations.cognee.datasets import PROVIDER, OmnigraphDatasets


def register() -> None:
    """Register the provider ``omnigraph`` (``GRAPH_DATABASE_PROVIDER=omnigraph``), and graphs for datasets."""
    use_graph_adapter(PROVIDER, OmnigraphAdapter)
    use_dataset_database_handler(PROVIDER, OmnigraphDatasets, PROVIDER)
