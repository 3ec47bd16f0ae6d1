"""Texts that a query compares with vectors: embedded once per query, before it runs.

The executors see vectors only. A query without such a text needs no embedder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from omnigraph.core.ports import Embedder
from omnigraph.errors import EmbeddingError, Hint
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Expand, Operator, QueryIR, Scan, Score, Stage
from omnigraph.query.rewrite.tree import bound_inputs, map_parts
from omnigraph.schema.catalog import Catalog

Vectors = dict[tuple[str, int], tuple[float, ...]]
"""By text and dimension."""


def embed_texts(query: QueryIR, catalog: Catalog, embedder: Embedder | None) -> QueryIR:
    """The bound query with a vector in place of every text of ``nearest``."""
    wanted = [(arm, _text(arm)) for arm in _nearest(query.root)]
    texts = [(arm, text) for arm, text in wanted if text is not None]
    if not texts:
        return query
    if embedder is None:
        raise EmbeddingError(
            "`nearest` with a text needs an embedder, and the graph was opened without one",
            hint=Hint(
                "open it with embedder=omnigraph.embed.from_environment(), or pass a vector",
                "set the OMNIGRAPH_EMBED_* variables, or pass a vector",
            ),
        )
    from omnigraph.rows.embedding import check_model

    types = dict(node_variables(query.root))
    for arm, _ in texts:
        check_model(catalog.nodes[types[arm.vector.variable]], arm.vector.name, embedder)
    vectors = _embedded({(text, _dimension(arm)) for arm, text in texts}, embedder)

    def fill(part: ir.Expr) -> ir.Expr:
        text = _text(part) if isinstance(part, ir.Nearest) else None
        if text is None:
            return part
        assert isinstance(part, ir.Nearest)
        vector = ir.Constant(vectors[text, _dimension(part)], replace(part.vector.type, nullable=False))
        return replace(part, query=vector)

    return replace(query, root=map_parts(query.root, fill))


def _operators(root: Operator) -> Iterator[Operator]:
    """Operators whose variables can be ranked by: what happens inside ``not`` stays there."""
    yield root
    for below in (root.input,) if isinstance(root, Stage) else bound_inputs(root):
        yield from _operators(below)


def _nearest(root: Operator) -> Iterator[ir.Nearest]:
    for operator in _operators(root):
        if isinstance(operator, Score):
            for ranking in operator.rankings:
                arms = ranking.arms if isinstance(ranking, ir.Rrf) else (ranking,)
                yield from (arm for arm in arms if isinstance(arm, ir.Nearest))


def node_variables(root: Operator) -> Iterator[tuple[str, str]]:
    """Node variables with their types; those of ``not`` blocks stay there."""
    for operator in _operators(root):
        if isinstance(operator, Scan):
            yield operator.variable, operator.type_name
        elif isinstance(operator, Stage):
            yield from ((item.variable, item.type_name) for item in operator.entities if not item.is_edge)
        elif isinstance(operator, Expand) and not operator.closes:
            yield operator.new_variable, operator.new_type


def _text(arm: ir.Nearest) -> str | None:
    assert isinstance(arm.query, ir.Constant), "parameters were bound"
    return arm.query.value if isinstance(arm.query.value, str) else None


def _dimension(arm: ir.Nearest) -> int:
    assert arm.vector.type.dimension is not None, "a vector property has a dimension"
    return arm.vector.type.dimension


def _embedded(wanted: set[tuple[str, int]], embedder: Embedder) -> Vectors:
    from omnigraph.rows.embedding import call_embedder

    vectors: Vectors = {}
    for dimension in sorted({dimension for _, dimension in wanted}):
        texts = sorted(text for text, wanted_dimension in wanted if wanted_dimension == dimension)
        found = call_embedder(embedder, texts, dimension, "query").tolist()
        vectors.update({(text, dimension): tuple(vector) for text, vector in zip(texts, found, strict=True)})
    return vectors
