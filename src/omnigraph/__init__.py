"""Omnigraph: a typed property graph on open Lance tables, with branches, merges and time travel.

``create`` makes a graph, ``open`` opens one, ``repair`` mends a damaged one, ``restore`` copies a backup,
``infer_schema`` guesses a schema from data; everything else is a method of a ``Graph``. Importing this package loads
neither Lance nor Arrow: they are loaded with the first graph.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnigraph.errors import OmnigraphError
from omnigraph.wiring import plug_in

if TYPE_CHECKING:
    from omnigraph import aio as aio
    from omnigraph.client.opening import open_graph as open
    from omnigraph.client.remote_graph import RemoteGraph
    from omnigraph.core.actors import Action, Actor
    from omnigraph.core.commit import GraphCommit
    from omnigraph.core.ports import Embedder
    from omnigraph.core.profile import OperatorProfile
    from omnigraph.core.tuning import Tuning
    from omnigraph.engine.analysis.result import AnalysisResult
    from omnigraph.engine.analysis.run import Analysis
    from omnigraph.engine.blobs import Blob
    from omnigraph.engine.copies.result import CopyResult
    from omnigraph.engine.documents.options import DocumentOptions
    from omnigraph.engine.documents.result import DocumentsPreview, DocumentsResult
    from omnigraph.engine.export.result import ExportedFile, ExportResult
    from omnigraph.engine.external.result import ExternalTypeInfo, ExternalTypeList, RefreshResult
    from omnigraph.engine.graph import Graph, create, import_data, infer_schema, repair, restore
    from omnigraph.engine.history.commit_changes import ChangeBlock, CommitChanges
    from omnigraph.engine.history.diff import Diff, PlannedChanges
    from omnigraph.engine.history.feed import ChangeBaseline, ChangePage, Feed
    from omnigraph.engine.interop.backend_graph import BackendGraph
    from omnigraph.engine.load_options import LoadOptions
    from omnigraph.engine.merge.result import MergePreview, MergeResult
    from omnigraph.engine.mirror.result import MirroredTable, MirrorResult
    from omnigraph.engine.permits.authorizer import Authorizer
    from omnigraph.engine.picture.picture import Picture
    from omnigraph.engine.previews import WritePreview
    from omnigraph.engine.query.explanation import Explanation
    from omnigraph.engine.query.prepared import PreparedQuery
    from omnigraph.engine.query.result import QueryResult
    from omnigraph.engine.resolve.result import ResolvePreview, ResolveResult
    from omnigraph.engine.results import (
        BranchInfo,
        BranchList,
        BranchLoss,
        LoadResult,
        MutationResult,
        VerifyProblem,
        VerifyReport,
    )
    from omnigraph.engine.retry import retrying
    from omnigraph.engine.revert.result import RevertPreview, RevertResult
    from omnigraph.engine.schema.importing import ImportResult
    from omnigraph.engine.schema.result import SchemaResult
    from omnigraph.engine.schema.text import SchemaText
    from omnigraph.engine.snapshot import Snapshot
    from omnigraph.engine.tabular import ReturnedRows
    from omnigraph.engine.upkeep.cleanup_result import CleanupResult
    from omnigraph.engine.upkeep.doctor import Finding
    from omnigraph.engine.upkeep.optimize_result import OptimizeResult
    from omnigraph.engine.upkeep.repair_result import RepairReport
    from omnigraph.engine.views.types import TypeViews
    from omnigraph.engine.views.view import EntityView
    from omnigraph.exec.resolve.rules import Comparison, ResolveRules
    from omnigraph.history.changes import Change
    from omnigraph.history.conflicts import Resolution
    from omnigraph.ingest.documents.pipeline import DocumentPipeline
    from omnigraph.ingest.infer.result import InferredSchema, InferredType
    from omnigraph.ingest.networkx import GraphTables, from_networkx
    from omnigraph.manifest.mirrors import Mirror
    from omnigraph.schema.catalog import Catalog
    from omnigraph.schema.migration import MigrationPlan
    from omnigraph.write.adopt.versions import OfferedVersion

__version__ = "0.1.0"

# Public name -> the module that is imported when the name is first used.
_MODULES = {
    "Action": "core.actors",
    "Actor": "core.actors",
    "Analysis": "engine.analysis.run",
    "AnalysisResult": "engine.analysis.result",
    "Authorizer": "engine.permits.authorizer",
    "BackendGraph": "engine.interop.backend_graph",
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
    "Comparison": "exec.resolve.rules",
    "CopyResult": "engine.copies.result",
    "Diff": "engine.history.diff",
    "DocumentOptions": "engine.documents.options",
    "DocumentPipeline": "ingest.documents.pipeline",
    "DocumentsPreview": "engine.documents.result",
    "DocumentsResult": "engine.documents.result",
    "Embedder": "core.ports",
    "EntityView": "engine.views.view",
    "Explanation": "engine.query.explanation",
    "ExportResult": "engine.export.result",
    "ExportedFile": "engine.export.result",
    "ExternalTypeInfo": "engine.external.result",
    "ExternalTypeList": "engine.external.result",
    "Feed": "engine.history.feed",
    "Finding": "engine.upkeep.doctor",
    "Graph": "engine.graph",
    "GraphCommit": "core.commit",
    "GraphTables": "ingest.networkx",
    "ImportResult": "engine.schema.importing",
    "InferredSchema": "ingest.infer.result",
    "InferredType": "ingest.infer.result",
    "LoadOptions": "engine.load_options",
    "LoadResult": "engine.results",
    "MergePreview": "engine.merge.result",
    "MergeResult": "engine.merge.result",
    "MigrationPlan": "schema.migration",
    "Mirror": "manifest.mirrors",
    "MirrorResult": "engine.mirror.result",
    "MirroredTable": "engine.mirror.result",
    "MutationResult": "engine.results",
    "OfferedVersion": "write.adopt.versions",
    "OperatorProfile": "core.profile",
    "OptimizeResult": "engine.upkeep.optimize_result",
    "Picture": "engine.picture.picture",
    "PlannedChanges": "engine.history.diff",
    "PreparedQuery": "engine.query.prepared",
    "QueryResult": "engine.query.result",
    "RefreshResult": "engine.external.result",
    "RemoteGraph": "client.remote_graph",
    "RepairReport": "engine.upkeep.repair_result",
    "Resolution": "history.conflicts",
    "ResolvePreview": "engine.resolve.result",
    "ResolveResult": "engine.resolve.result",
    "ResolveRules": "exec.resolve.rules",
    "ReturnedRows": "engine.tabular",
    "RevertPreview": "engine.revert.result",
    "RevertResult": "engine.revert.result",
    "SchemaResult": "engine.schema.result",
    "SchemaText": "engine.schema.text",
    "Snapshot": "engine.snapshot",
    "Tuning": "core.tuning",
    "TypeViews": "engine.views.types",
    "VerifyProblem": "engine.results",
    "VerifyReport": "engine.results",
    "WritePreview": "engine.previews",
    "create": "engine.graph",
    "from_networkx": "ingest.networkx",
    "import_data": "engine.graph",
    "infer_schema": "engine.graph",
    "open": "client.opening",
    "repair": "engine.graph",
    "restore": "engine.graph",
    "retrying": "engine.retry",
}

__all__ = [
    "Action",
    "Actor",
    "Analysis",
    "AnalysisResult",
    "Authorizer",
    "BackendGraph",
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
    "Comparison",
    "CopyResult",
    "Diff",
    "DocumentOptions",
    "DocumentPipeline",
    "DocumentsPreview",
    "DocumentsResult",
    "Embedder",
    "EntityView",
    "Explanation",
    "ExportResult",
    "ExportedFile",
    "ExternalTypeInfo",
    "ExternalTypeList",
    "Feed",
    "Finding",
    "Graph",
    "GraphCommit",
    "GraphTables",
    "ImportResult",
    "InferredSchema",
    "InferredType",
    "LoadOptions",
    "LoadResult",
    "MergePreview",
    "MergeResult",
    "MigrationPlan",
    "Mirror",
    "MirrorResult",
    "MirroredTable",
    "MutationResult",
    "OfferedVersion",
    "OmnigraphError",
    "OperatorProfile",
    "OptimizeResult",
    "Picture",
    "PlannedChanges",
    "PreparedQuery",
    "QueryResult",
    "RefreshResult",
    "RemoteGraph",
    "RepairReport",
    "Resolution",
    "ResolvePreview",
    "ResolveResult",
    "ResolveRules",
    "ReturnedRows",
    "RevertPreview",
    "RevertResult",
    "SchemaResult",
    "SchemaText",
    "Snapshot",
    "Tuning",
    "TypeViews",
    "VerifyProblem",
    "VerifyReport",
    "WritePreview",
    "__version__",
    "create",
    "from_networkx",
    "import_data",
    "infer_schema",
    "open",
    "repair",
    "restore",
    "retrying",
]

plug_in()


def __getattr__(name: str) -> Any:
    if name == "aio":
        return import_module("omnigraph.aio")
    if name not in _MODULES:
        raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")
    found = getattr(import_module(f"omnigraph.{_MODULES[name]}"), "open_graph" if name == "open" else name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
