"""Addresses of what a cluster declares, and the places of its files below the root of its storage."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

STATE_PATH: Final = "__cluster/state.json"
RECOVERIES: Final = "__cluster/recoveries"
CLUSTER_SCOPE: Final = "cluster"
"""The binding of a policy to the server itself."""

RESOURCE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
"""Ids of resources, which become parts of paths."""


@dataclass(frozen=True, slots=True)
class QueryAddress:
    """A stored query of a graph: ``query.<graph>.<name>``."""

    graph: str
    name: str

    def path(self, digest: str) -> str:
        return f"__cluster/resources/query/{self.graph}/{self.name}/{digest}.gq"


def policy_path(name: str, digest: str) -> str:
    """The file of a policy bundle."""
    return f"__cluster/resources/policy/{name}/{digest}.yaml"


def graph_root(root: str, graph: str) -> str:
    """The address of a declared graph below the root of the cluster's storage."""
    return f"{root.rstrip('/')}/graphs/{graph}.omni"


def graph_of(address: str) -> str | None:
    """The id in ``graph.<id>``; None for another address."""
    kind, _, name = address.partition(".")
    return name if kind == "graph" and RESOURCE_ID.fullmatch(name) else None


def query_of(address: str) -> QueryAddress | None:
    """Graph and name in ``query.<graph>.<name>``; None for another address."""
    kind, _, rest = address.partition(".")
    graph, _, name = rest.partition(".")
    is_query = kind == "query" and RESOURCE_ID.fullmatch(graph) and RESOURCE_ID.fullmatch(name)
    return QueryAddress(graph, name) if is_query else None


def policy_of(address: str) -> str | None:
    """The name in ``policy.<name>``; None for another address."""
    kind, _, name = address.partition(".")
    return name if kind == "policy" and RESOURCE_ID.fullmatch(name) else None


def provider_address(name: str) -> str:
    """The address of an embedding provider."""
    return f"provider.embedding.{name}"


def bound_graph(binding: str) -> str:
    """The graph that a policy is bound to, written as its id or as its address."""
    return binding.removeprefix("graph.")


def content_digest(content: bytes) -> str:
    """The digest that a resource's file is named by."""
    return hashlib.sha256(content).hexdigest()
