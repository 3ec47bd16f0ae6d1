"""Addresses of what a cluster declares, and the places of its files below the root of its storage."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

STATE_PATH: Final = "__cluster/state.json"
LOCK_PATH: Final = "__cluster/lock.json"
RECOVERIES: Final = "__cluster/recoveries"
APPROVALS: Final = "__cluster/approvals"
CLUSTER_SCOPE: Final = "cluster"
"""The binding of a policy to the server itself."""

RESOURCE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
"""Ids of resources, which become parts of paths."""

GRAPH_ID: Final = re.compile(r"[a-zA-Z0-9-]{1,64}", re.ASCII)
RESERVED_IDS: Final = frozenset({"policies", "healthz", "openapi", "graphs"})
"""Names that paths of a server have, or may get."""


def is_graph_id(text: str) -> bool:
    """True for a text that can name a graph in a path."""
    return GRAPH_ID.fullmatch(text) is not None and text not in RESERVED_IDS


class Kind(StrEnum):
    """Kinds of resources, by the first part of their addresses."""

    GRAPH = "graph"
    SCHEMA = "schema"
    QUERY = "query"
    POLICY = "policy"
    PROVIDER = "provider"
    TOKEN = "token"


def kind_of(address: str) -> Kind | None:
    """The kind in an address; None for an address of a kind that is not known."""
    first = address.partition(".")[0]
    return Kind(first) if first in set(Kind) else None


@dataclass(frozen=True, slots=True)
class QueryAddress:
    """A stored query of a graph: ``query.<graph>.<name>``."""

    graph: str
    name: str

    def __str__(self) -> str:
        return f"query.{self.graph}.{self.name}"

    def path(self, digest: str) -> str:
        return f"__cluster/resources/query/{self.graph}/{self.name}/{digest}.gq"


def policy_path(name: str, digest: str) -> str:
    """The file of a policy bundle."""
    return f"__cluster/resources/policy/{name}/{digest}.yaml"


def token_path(actor: str, digest: str) -> str:
    """The file of the reference to an actor's token."""
    return f"__cluster/resources/token/{actor}/{digest}.txt"


def payload_path(address: str, digest: str) -> str | None:
    """The file of a resource whose content a server reads; None for one without."""
    if (query := query_of(address)) is not None:
        return query.path(digest)
    if (policy := policy_of(address)) is not None:
        return policy_path(policy, digest)
    if (actor := token_of(address)) is not None:
        return token_path(actor, digest)
    return None


def approval_path(approval_id: str) -> str:
    """The file of an approval."""
    return f"{APPROVALS}/{approval_id}.json"


def graph_root(root: str, graph: str) -> str:
    """The address of a declared graph below the root of the cluster's storage."""
    return f"{root.rstrip('/')}/graphs/{graph}.omni"


def graph_address(graph: str) -> str:
    """The address of a graph."""
    return f"graph.{graph}"


def schema_address(graph: str) -> str:
    """The address of a graph's schema."""
    return f"schema.{graph}"


def provider_address(name: str) -> str:
    """The address of an embedding provider."""
    return f"provider.embedding.{name}"


def _name_of(address: str, kind: Kind) -> str | None:
    found, _, name = address.partition(".")
    return name if found == kind and RESOURCE_ID.fullmatch(name) else None


def graph_of(address: str) -> str | None:
    """The id in ``graph.<id>``; None for another address."""
    return _name_of(address, Kind.GRAPH)


def policy_of(address: str) -> str | None:
    """The name in ``policy.<name>``; None for another address."""
    return _name_of(address, Kind.POLICY)


def token_of(address: str) -> str | None:
    """The actor in ``token.<actor>``; None for another address."""
    return _name_of(address, Kind.TOKEN)


def query_of(address: str) -> QueryAddress | None:
    """Graph and name in ``query.<graph>.<name>``; None for another address."""
    kind, _, rest = address.partition(".")
    graph, _, name = rest.partition(".")
    is_query = kind == Kind.QUERY and RESOURCE_ID.fullmatch(graph) and RESOURCE_ID.fullmatch(name)
    return QueryAddress(graph, name) if is_query else None


def owner_of(address: str) -> str | None:
    """The graph that a graph, schema or query address belongs to; None for the others."""
    if (query := query_of(address)) is not None:
        return query.graph
    return graph_of(address) or _name_of(address, Kind.SCHEMA)


def bound_graph(binding: str) -> str:
    """The graph that a policy is bound to, written as its id or as its address."""
    return binding.removeprefix("graph.")


def content_digest(content: bytes) -> str:
    """The digest that a resource's file is named by."""
    return hashlib.sha256(content).hexdigest()
