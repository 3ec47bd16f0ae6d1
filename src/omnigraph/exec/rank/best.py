"""The first rows of a ranking without scoring all rows: recognition of such queries, and the choice of the method."""

from __future__ import annotations

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.frame import Frame
from omnigraph.exec.rank.fused import fused_best
from omnigraph.exec.rank.nearest import closest
from omnigraph.exec.search import Searcher
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Score, Slice, Sort
from omnigraph.storage.index.indexes import Coverage


@dataclass(frozen=True, slots=True)
class Wanted:
    """A ranking whose first rows suffice for the query, and their number."""

    operator: Score
    number: int
    rows: int


def wanted_rows(operator: Slice) -> Wanted | None:
    """The ranking that orders the rows of a limited result, if nothing else depends on rows beyond the limit."""
    sort = operator.input
    if operator.limit is None or not isinstance(sort, Sort) or not isinstance(sort.input, Score):
        return None
    first, scores = sort.keys[0], sort.input
    if not isinstance(first.expression, ir.ScoreColumn):
        return None
    number = first.expression.number
    if first.descending is isinstance(scores.rankings[number], ir.Nearest) or sum(scores.required) > 1:
        return None
    others = scores.rankings[:number] + scores.rankings[number + 1 :]
    if any(isinstance(ranking, ir.Rrf) for ranking in others):
        # Its ranks count every row.
        return None
    return Wanted(scores, number, operator.offset + operator.limit)


def best_rows(wanted: Wanted, frame: Frame, searcher: Searcher, uses: list[Coverage]) -> Frame:
    """The frame without rows that cannot be among the best; unchanged if that cannot be proved."""
    if not wanted.rows:
        return frame
    ranking = wanted.operator.rankings[wanted.number]
    column = f"#score{wanted.number}"
    match ranking:
        case ir.Nearest():
            return closest(ranking, column, frame, wanted.rows, searcher, uses)
        case ir.Rrf():
            return fused_best(ranking, column, frame, wanted.rows, searcher, uses)
        case ir.Bm25():
            # Every score is known once the text is searched.
            return frame
