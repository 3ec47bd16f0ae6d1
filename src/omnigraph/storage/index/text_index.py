"""Lance's full-text analysis and scoring, and an index in memory over one column of text."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lance.query import MatchQuery

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import InputError
from omnigraph.storage.objects.failures import foreign

EXPANSIONS_MAX = 2**31 - 1
"""Words that a fuzzy search may expand to: no limit, so that every match counts."""


@dataclass(frozen=True, slots=True)
class Found:
    """Matching rows and their scores."""

    rows: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TextIndex:
    """The texts of a column by row number, searchable."""

    dataset: lance.LanceDataset | None

    @classmethod
    def build(cls, texts: pa.Array) -> TextIndex:
        """Index the texts of a column; nulls are never found."""
        if not len(texts) or texts.null_count == len(texts):
            return cls(None)
        table = pa.table({"row": np.arange(len(texts)), "text": texts})
        dataset = lance.write_dataset(table, f"memory://{uuid.uuid4().hex}")
        dataset.create_scalar_index("text", "INVERTED")
        return cls(dataset)

    def search(self, query: str, edits: int) -> Found:
        """Rows with at least one token of the query; with ``edits`` also tokens that many changes away."""
        if self.dataset is None or not (query := analyzed_query(query, edits)):
            return Found(np.zeros(0, np.int64), np.zeros(0, np.float32))
        found = match_text(self.dataset, "text", query, edits, shown=("row",))
        return Found(found.column("row").to_numpy().astype(np.int64), found.column("_score").to_numpy())


def words_of(text: str) -> list[str]:
    """The tokens of a text or query by Lance's full-text analyzer, with repetitions."""
    return [token.text for token in lance.tokenize(text)]


def analyzed_query(query: str, edits: int) -> str:
    """The text to pass to Lance for a query; empty if there is nothing to search for.

    With edits Lance does not analyze the query, but the words of the index are in lower case and stemmed:
    `Introduction` would be four edits away from itself. So the query is analyzed here.
    """
    return " ".join(words_of(query)) if edits else query.strip()


def match_text(
    dataset: lance.LanceDataset, column: str, query: str, edits: int, shown: Sequence[str] = (), **options: Any
) -> pa.Table:
    """Rows whose text holds a token of a query (see ``analyzed_query``), with their scores."""
    # By default Lance expands a fuzzy word to fifty similar ones only.
    match = MatchQuery(query, column, fuzziness=edits, max_expansions=EXPANSIONS_MAX)
    try:
        return dataset.scanner(columns=[*shown, "_score"], full_text_query=match, **options).to_table()
    except foreign() as error:
        raise InputError(
            f"the text cannot be searched for: {error}", hint="shorten it, or allow fewer edits"
        ) from error
