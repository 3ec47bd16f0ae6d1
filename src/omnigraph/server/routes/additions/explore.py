"""Rows of the operations that screens browse a graph with."""

from __future__ import annotations

from typing import Final

from omnigraph.server.handlers.explore import catalogs, entities, pictures
from omnigraph.server.http.bodies import JsonBody
from omnigraph.server.http.caching import IF_NONE_MATCH, IF_NONE_MATCH_PARAMETER, TAG_HEADERS
from omnigraph.server.routes.rows import BRANCH, SNAPSHOT, Route, addition
from omnigraph.wire.http.models.explore import (
    CatalogOutput,
    EntityHistoryOutput,
    EntityListOutput,
    EntityListRequest,
    EntityOutput,
    NeighboursOutput,
    NeighboursRequest,
    SampleOutput,
)
from omnigraph.wire.http.openapi import JSON, Body, Parameter, Reply

_AT: Final = (BRANCH, SNAPSHOT, IF_NONE_MATCH_PARAMETER)

EXPLORE: Final = (
    Route(
        addition(
            "GET",
            "/catalog",
            "getCatalog",
            "schema",
            "The types of a graph, with their properties and numbers of entities.",
            Reply("The types.", {JSON: CatalogOutput}, TAG_HEADERS),
            _AT,
            is_tagged=True,
        ),
        catalogs.SHOW,
        is_strict=True,
        headers=(IF_NONE_MATCH,),
    ),
    Route(
        addition(
            "GET",
            "/entities/{kind}/{type}/{id}",
            "getEntity",
            "entities",
            "One entity with all of its properties.",
            Reply("The entity.", {JSON: EntityOutput}, TAG_HEADERS),
            (
                Parameter("history", bool, "Also the commit that set each property. [default: false]"),
                *_AT,
            ),
            is_tagged=True,
        ),
        entities.SHOW,
        is_strict=True,
        headers=(IF_NONE_MATCH,),
    ),
    Route(
        addition(
            "GET",
            "/entities/{kind}/{type}/{id}/history",
            "getEntityHistory",
            "entities",
            "The commits that changed an entity, newest first, with the values before and after.",
            Reply("The history.", {JSON: EntityHistoryOutput}, TAG_HEADERS),
            (Parameter("limit", int, "Commits at most, up to 200. [default: 50]"), *_AT),
            is_tagged=True,
        ),
        entities.HISTORY,
        is_strict=True,
        headers=(IF_NONE_MATCH,),
    ),
    Route(
        addition(
            "POST",
            "/entities",
            "listEntities",
            "entities",
            "A page of the entities of one type, filtered and sorted.",
            Reply("The page.", {JSON: EntityListOutput}),
            body=Body({JSON: EntityListRequest}),
        ),
        entities.LIST,
        JsonBody(EntityListRequest, is_enveloped=True),
        meaning=entities.Listing.of,
    ),
    Route(
        addition(
            "POST",
            "/neighbours",
            "getNeighbours",
            "entities",
            "The neighbours of some nodes, by edge type and direction.",
            Reply("The nodes and edges.", {JSON: NeighboursOutput}),
            body=Body({JSON: NeighboursRequest}),
        ),
        pictures.EXPAND,
        JsonBody(NeighboursRequest, is_enveloped=True),
        meaning=pictures.Expansion.of,
    ),
    Route(
        addition(
            "GET",
            "/sample",
            "getSample",
            "entities",
            "The nodes with most edges and the edges between them, with positions to draw them at.",
            Reply("The sample.", {JSON: SampleOutput}, TAG_HEADERS),
            (
                Parameter("type", list[str], "Only these types. [default: all]"),
                Parameter("limit", int, "Nodes at most, up to 20,000. [default: 300]"),
                *_AT,
            ),
            is_tagged=True,
        ),
        pictures.SAMPLE,
        is_strict=True,
        headers=(IF_NONE_MATCH,),
    ),
)
