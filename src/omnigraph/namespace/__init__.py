"""The tables of a graph under their names, for every Lance client: a Lance namespace over branches and commits."""

from omnigraph.namespace.adapter import OmnigraphNamespace
from omnigraph.namespace.failures import TableConflicts
from omnigraph.namespace.staging import commit, stage

__all__ = ["OmnigraphNamespace", "TableConflicts", "commit", "stage"]
