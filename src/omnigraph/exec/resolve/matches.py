"""Matches among records: candidate pairs, scored, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.resolve.candidates import Blocks
from omnigraph.exec.resolve.rules import ResolveRules
from omnigraph.exec.resolve.scores import Scorer
from omnigraph.rows.arrow_types import ID
from omnigraph.schema.catalog import NodeType


@dataclass(frozen=True)
class Matches:
    """Pairs from the reported score on, and the number of pairs that were compared."""

    pairs: pa.Table
    compared: int


def pairs_schema(rules: ResolveRules) -> pa.Schema:
    """Columns of pairs: the two ids, the score, whether it is a match, and the similarity of each comparison."""
    fixed = [("left", pa.string()), ("right", pa.string()), ("score", pa.float64()), ("match", pa.bool_())]
    return pa.schema([*fixed, *((f"{name}_similarity", pa.float64()) for name in rules.score_names())])


def find_matches(records: pa.Table, node: NodeType, rules: ResolveRules, blocks: Blocks) -> Matches:
    """Score the candidate pairs of some records; the smaller id is on the left."""
    scorer = Scorer(records, node, rules)
    ids = records.column(ID).combine_chunks()
    found: list[pa.Table] = []
    compared = 0
    for left, right in blocks.pairs():
        compared += len(left)
        scores = scorer.scores(left, right)
        kept = np.flatnonzero(scores.score >= rules.least)
        if not len(kept):
            continue
        ones, others = (ids.take(pa.array(side[kept])) for side in (left, right))
        is_ordered = pc.less(ones, others)
        columns = [
            pc.if_else(is_ordered, ones, others),
            pc.if_else(is_ordered, others, ones),
            pa.array(scores.score[kept]),
            pa.array(scores.score[kept] >= rules.threshold),
            *(pa.array(similarity[kept], from_pandas=True) for similarity in scores.similarities),
        ]
        found.append(pa.Table.from_arrays(columns, schema=pairs_schema(rules)))
    return Matches(joined_pairs(found, rules), compared)


def joined_pairs(parts: Sequence[pa.Table], rules: ResolveRules) -> pa.Table:
    """Pairs of several parts, by their ids."""
    whole = pa.concat_tables([pairs_schema(rules).empty_table(), *parts])
    return whole.sort_by([("left", "ascending"), ("right", "ascending")])
