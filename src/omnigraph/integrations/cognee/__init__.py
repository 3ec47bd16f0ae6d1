"""cognee: a graph database provider whose nodes and edges are entities of a graph.

cognee requires another version of Lance than this package; ``docs/user/frameworks.md`` has the way to install both.
"""

from omnigraph.integrations.cognee.adapter import OmnigraphAdapter
from omnigraph.integrations.cognee.datasets import OmnigraphDatasets
from omnigraph.integrations.cognee.registration import register

__all__ = ["OmnigraphAdapter", "OmnigraphDatasets", "register"]
