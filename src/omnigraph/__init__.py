"""Omnigraph: a typed property graph on open Lance tables, with branches, merges and time travel.

``create`` makes a graph, ``open`` opens one, ``repair`` mends a damaged one; everything else is a method of the
``Graph`` that they return. Importing this package loads neither Lance nor Arrow: they are loaded with the first graph.
"""

from typing import TYPE_CHECKING, Any

from omnigraph.errors import OmnigraphError
from omnigraph.wiring import plug_in

if TYPE_CHECKING:
    from omnigraph.core.commit import GraphCommit
    from omnigraph.core.ports import Embedder
    from omnigraph.core.profile import OperatorProfile
    from omnigraph.core.tuning import Tuning
    from omnigraph.engine.analysis.result import AnalysisResult
    from omnigraph.engine.analysis.run import Analysis
    from omnigraph.engine.blobs import Blob
    from omnigraph.engine.graph import Graph, create, repair
    from omnigraph.engine.graph import open_graph as open
    from omnigraph.engine.history.commit_changes import ChangeBlock, CommitChanges
    from omnigraph.engine.history.diff import Diff
    from omnigraph.engine.history.feed import ChangeBaseline, ChangePage, Feed
    from omnigraph.engine.load_options import LoadOptions
    from omnigraph.engine.merge.result import MergePreview, MergeResult
    from omnigraph.engine.previews import WritePreview
    from omnigraph.engine.query.explanation import Explanation
    from omnigraph.engine.query.result import QueryResult
    from omnigraph.engine.results import (
        BranchInfo,
        BranchList,
        BranchLoss,
        LoadResult,
        MutationResult,
        VerifyProblem,
        VerifyReport,
    )
    from omnigraph.engine.revert.result import RevertPreview, RevertResult
    from omnigraph.engine.schema.result import SchemaResult
    from omnigraph.engine.snapshot import Snapshot
    from omnigraph.engine.upkeep.cleanup_result import CleanupResult
    from omnigraph.engine.upkeep.doctor import Finding
    from omnigraph.engine.upkeep.optimize_result import OptimizeResult
    from omnigraph.engine.upkeep.repair_result import RepairReport
    from omnigraph.history.changes import Change
    from omnigraph.history.conflicts import Resolution
    from omnigraph.schema.catalog import Catalog
    from omnigraph.schema.migration import MigrationPlan

__version__ = "0.1.0"

# Public name -> the module that is imported when the name is first used.
_MODULES = {
    "Analysis": "engine.analysis.run",
    "AnalysisResult": "engine.analysis.result",
    "Blob": "engine.blobs",
    "BranchInfo": "engine.results",
    "BranchList": "engine.results",
    "BranchLoss": "engine.results",
    "Catalog": "schema.catalog",
    "Change": "history.changes",
    "ChangeBaseline": "engine.history.feed",
    "ChangeBlock": "engine.history.commit_changes",
    "ChangePage": "engine.history.feed",
    "CleanupResult": "engine.upkeep.cleanup_result",
    "CommitChanges": "engine.history.commit_changes",
    "Diff": "engine.history.diff",
    "Embedder": "core.ports",
    "Explanation": "engine.query.explanation",
    "Feed": "engine.history.feed",
    "Finding": "engine.upkeep.doctor",
    "Graph": "engine.graph",
    "GraphCommit": "core.commit",
    "LoadOptions": "engine.load_options",
    "LoadResult": "engine.results",
    "MergePreview": "engine.merge.result",
    "MergeResult": "engine.merge.result",
    "MigrationPlan": "schema.migration",
    "MutationResult": "engine.results",
    "OperatorProfile": "core.profile",
    "OptimizeResult": "engine.upkeep.optimize_result",
    "QueryResult": "engine.query.result",
    "RepairReport": "engine.upkeep.repair_result",
    "Resolution": "history.conflicts",
    "RevertPreview": "engine.revert.result",
    "RevertResult": "engine.revert.result",
    "SchemaResult": "engine.schema.result",
    "Snapshot": "engine.snapshot",
    "Tuning": "core.tuning",
    "VerifyProblem": "engine.results",
    "VerifyReport": "engine.results",
    "WritePreview": "engine.previews",
    "create": "engine.graph",
    "open": "engine.graph",
    "repair": "engine.graph",
}

__all__ = [
    "Analysis",
    "AnalysisResult",
    "Blob",
    "BranchInfo",
    "BranchList",
    "BranchLoss",
    "Catalog",
    "Change",
    "ChangeBaseline",
    "ChangeBlock",
    "ChangePage",
    "CleanupResult",
    "CommitChanges",
    "Diff",
    "Embedder",
    "Explanation",
    "Feed",
    "Finding",
    "Graph",
    "GraphCommit",
    "LoadOptions",
    "LoadResult",
    "MergePreview",
    "MergeResult",
    "MigrationPlan",
    "MutationResult",
    "OmnigraphError",
    "OperatorProfile",
    "OptimizeResult",
    "QueryResult",
    "RepairReport",
    "Resolution",
    "RevertPreview",
    "RevertResult",
    "SchemaResult",
    "Snapshot",
    "Tuning",
    "VerifyProblem",
    "VerifyReport",
    "WritePreview",
    "__version__",
    "create",
    "open",
    "repair",
]

plug_in()


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"omnigraph.{_MODULES[name]}"), "open_graph" if name == "open" else name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
