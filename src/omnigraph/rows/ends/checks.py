"""Checks of the ends of single edges, for loads that do not look nodes up before they write rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.ends.references import UNRESOLVED, reference_texts, shown_types, tags_of
from omnigraph.rows.ends.violations import endpoint_violation, pair_violation
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import EdgeType


def check_named_types(rows: TypedRows, source: str, violations: Violations) -> None:
    """Report nodes without the type that their end needs, and edges between types that are not connected.

    Where only some pairs of types are connected, an edge has to name both ends, or none of them.
    """
    edge, batch, places = rows.entity, rows.batch, rows.places(source)
    if not isinstance(edge, EdgeType) or not edge.has_types:
        return
    ids = batch.column("id").to_pylist()
    for end in edge.ends:
        is_unnamed = pc.fill_null(pc.equal(tags_of(end, batch), UNRESOLVED), False)
        if pc.any(is_unnamed, min_count=0).as_py():
            texts = reference_texts(end, batch)
            for row in pc.indices_nonzero(is_unnamed).to_pylist():
                violations.add(endpoint_violation(edge, end, ids[row], texts[row], places(row)))
    if len(edge.pairs) == len(edge.source.types) * len(edge.target.types):
        return
    types = (shown_types(end, tags_of(end, batch)) for end in edge.ends)
    given = (pc.is_valid(batch.column(end.column)) for end in edge.ends)
    sources, targets = (
        pc.if_else(is_given, names, pa.scalar(None, pa.utf8())).to_pylist()
        for is_given, names in zip(given, types, strict=True)
    )
    for row, pair in enumerate(zip(sources, targets, strict=True)):
        if pair != (None, None) and UNRESOLVED not in pair and pair not in edge.pairs:
            violations.add(pair_violation(edge, ids[row], (str(pair[0]), str(pair[1])), places(row)))
