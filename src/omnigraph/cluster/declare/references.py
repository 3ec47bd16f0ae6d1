"""Checks of a configuration by itself: ids, references between its parts, providers, places of external blobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote, urlsplit

from omnigraph.cluster.config import BlobBase, ClusterConfig, DeclaredPolicy, EmbeddingProvider
from omnigraph.cluster.diagnostics import Diagnostic, problem
from omnigraph.cluster.resources import CLUSTER_SCOPE, RESOURCE_ID, Kind, bound_graph, is_graph_id, kind_of

_KEYLESS: Final = frozenset({"mock"})
"""Providers without a key."""


def check_references(config: ClusterConfig) -> list[Diagnostic]:
    """All problems that the configuration shows without its files."""
    return [
        *_ids(config),
        *(found for name, item in config.providers.embedding.items() for found in _provider(name, item)),
        *_graph_references(config),
        *_bindings(config),
    ]


def _ids(config: ClusterConfig) -> Iterator[Diagnostic]:
    for name in config.graphs:
        if not is_graph_id(name):
            expected = "1 to 64 letters, digits and hyphens, and no name that a server uses itself"
            yield problem("invalid_resource_id", f"graphs.{name}", f"{name!r} is no id of a graph: use {expected}")
    for section, names in (
        ("policies", config.policies),
        ("providers.embedding", config.providers.embedding),
        ("tokens", config.tokens),
    ):
        for name in names:
            if RESOURCE_ID.fullmatch(name) is None:
                expected = "1 to 64 letters, digits, hyphens and underscores"
                yield problem("invalid_resource_id", f"{section}.{name}", f"{name!r} is no id: use {expected}")


def _provider(name: str, item: EmbeddingProvider) -> Iterator[Diagnostic]:
    place = f"providers.embedding.{name}"
    if item.service is None or (item.kind and item.provider and item.kind != item.provider):
        yield problem("invalid_embedding_provider", place, f"provider {name!r} needs one `kind`")
    elif item.service not in _KEYLESS and item.api_key is None:
        message = f"provider {name!r} needs `api_key: ${{NAME}}`, the name of an environment variable"
        yield problem("embedding_api_key_required", f"{place}.api_key", message)


def _graph_references(config: ClusterConfig) -> Iterator[Diagnostic]:
    for name, graph in config.graphs.items():
        provider = graph.embedding_provider
        if provider is not None and provider not in config.providers.embedding:
            message = f"graph {name!r} names the embedding provider {provider!r}, which is not declared"
            yield problem("dangling_embedding_provider_reference", f"graphs.{name}.embedding_provider", message)
        if graph.external_blobs is not None:
            yield from _blob_bases(f"graphs.{name}.external_blobs", graph.external_blobs.allow)


def _blob_bases(place: str, bases: Iterable[BlobBase]) -> Iterator[Diagnostic]:
    accepted: list[str] = []
    for index, item in enumerate(bases):
        where = f"{place}.allow.{index}"
        reason = _base_problem(item.base)
        if reason is not None:
            yield problem("invalid_external_blob_base", where, f"{item.base!r} is no place of blobs: {reason}")
            continue
        if urlsplit(item.base).scheme == "file" and item.scope == "server_safe":
            yield problem("invalid_external_blob_policy", where, "a file:// place is never server_safe")
        # A slash at the end makes a prefix of whole names: /a does not contain /ab.
        base = f"{item.base.rstrip('/')}/"
        for other in accepted:
            if base.startswith(other) or other.startswith(base):
                message = f"{item.base!r} overlaps {other!r}"
                yield problem("invalid_external_blob_policy", where, message)
        accepted.append(base)


def _base_problem(base: str) -> str | None:
    try:
        parts = urlsplit(base)
    except ValueError:
        return "it is no URI"
    if not parts.scheme or not (parts.netloc or parts.path):
        return "it is no URI"
    if parts.username or parts.password:
        return "it has credentials"
    if parts.query or parts.fragment:
        return "it has a query or a fragment"
    names = unquote(parts.path).split("/")
    if any(name in (".", "..") for name in names) or "" in names[1:-1]:
        return "it is not normalised"
    return None


def _bindings(config: ClusterConfig) -> Iterator[Diagnostic]:
    bound: dict[str, str] = {}
    for name, policy in config.policies.items():
        place = f"policies.{name}.applies_to"
        if not policy.applies_to:
            yield problem(
                "policy_missing_applies_to", place, f"policy {name!r} is bound to no graph, nor to the cluster"
            )
        scopes = [item if item == CLUSTER_SCOPE else bound_graph(item) for item in policy.applies_to]
        if CLUSTER_SCOPE in scopes and len(set(scopes)) > 1:
            message = f"policy {name!r} is bound to graphs and to the cluster: write a policy for each"
            yield problem("policy_mixed_binding_kinds", place, message)
        yield from _dangling(config, place, policy)
        for scope in scopes:
            if scope in bound:
                message = f"policies {bound[scope]!r} and {name!r} are both bound to {scope!r}"
                yield problem("duplicate_policy_binding", place, message)
            bound[scope] = name


def _dangling(config: ClusterConfig, place: str, policy: DeclaredPolicy) -> Iterator[Diagnostic]:
    for item in policy.applies_to:
        if item == CLUSTER_SCOPE or bound_graph(item) in config.graphs:
            continue
        if "." in item and kind_of(item) not in (None, Kind.GRAPH):
            yield problem("wrong_kind_reference", place, f"{item!r} is no graph: a policy is bound to graphs")
        else:
            yield problem("dangling_graph_reference", place, f"there is no graph {bound_graph(item)!r}")
