"""Desired resources: a checked declaration as addresses with digests, in the form that the state records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.cluster.config import ClusterConfig, DeclaredGraph
from omnigraph.cluster.declare.digests import config_digest, graph_digest, value_digest
from omnigraph.cluster.resources import (
    QueryAddress,
    content_digest,
    graph_address,
    provider_address,
    schema_address,
)
from omnigraph.cluster.state import Resource


@dataclass(frozen=True, slots=True)
class DesiredResource:
    """A resource as it should be. ``content`` is that of its file."""

    recorded: Resource
    content: bytes | None = field(default=None, repr=False)

    @property
    def digest(self) -> str:
        return self.recorded.digest


@dataclass(frozen=True, slots=True)
class Desired:
    """Everything that a cluster declares."""

    config_digest: str
    resources: Mapping[str, DesiredResource]
    lock: bool = True


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of the files that a configuration names."""

    schemas: Mapping[str, bytes] = field(default_factory=dict)
    queries: Mapping[QueryAddress, bytes] = field(default_factory=dict)
    policies: Mapping[str, bytes] = field(default_factory=dict)


def desired_resources(config: ClusterConfig, contents: Contents) -> Desired:
    """The resources of a configuration that has passed its checks."""
    found: dict[str, DesiredResource] = {}
    for name, provider in config.providers.embedding.items():
        profile = provider.model_dump(exclude_none=True)
        recorded = Resource(digest=value_digest(profile), embedding_profile=profile)
        found[provider_address(name)] = DesiredResource(recorded)
    for name, content in contents.policies.items():
        applies_to = sorted(config.policies[name].applies_to)
        found[f"policy.{name}"] = _file(content, applies_to=applies_to)
    for actor, reference in config.tokens.items():
        found[f"token.{actor}"] = _file(reference.encode())
    for name, content in contents.schemas.items():
        found[schema_address(name)] = _file(content)
    for query, content in contents.queries.items():
        found[str(query)] = _file(content)
    for name, graph in config.graphs.items():
        found[graph_address(name)] = DesiredResource(_graph(name, graph, contents, found))
    resources = dict(sorted(found.items()))
    digests = {address: item.digest for address, item in resources.items()}
    bindings = {name: sorted(policy.applies_to) for name, policy in config.policies.items()}
    semantics = {"version": config.version, "bindings": bindings, "lock": config.state.lock}
    return Desired(config_digest(semantics, digests), resources, config.state.lock)


def _file(content: bytes, applies_to: list[str] | None = None) -> DesiredResource:
    return DesiredResource(Resource(digest=content_digest(content), applies_to=applies_to), content)


def _graph(name: str, graph: DeclaredGraph, contents: Contents, found: Mapping[str, DesiredResource]) -> Resource:
    provider = graph.embedding_provider
    blobs = graph.external_blobs
    blob_policy = blobs.model_dump() if blobs is not None and blobs.allow else None
    queries = {query.name: content_digest(text) for query, text in contents.queries.items() if query.graph == name}
    provided = None if provider is None else (provider, found[provider_address(provider)].digest)
    digest = graph_digest(name, found[schema_address(name)].digest, queries, provided, blob_policy)
    return Resource(digest=digest, embedding_provider=provider, external_blob_policy=blob_policy)
