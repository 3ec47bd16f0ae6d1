"""`contains` through an index of n-grams: always what comparing every text gives, and cheaper than that."""

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.exec.tables import TableView
from omnigraph.storage.index.indexes import IndexKind
from omnigraph.storage.tables.filters import RowFilter, Substring
from omnigraph.storage.tables.io_meter import IoMeter
from tests.support.tuning import EAGER, tuned

SCHEMA = "node Note { slug: String @key\n text: String? @index\n group: I64? @index }"
LETTERS = [
    *"abcABC019 _-'%\\\"\n",
    *"\u03a3\u03c3\u03c2\u0130\u0131\u00df\ufb01\u00e9\u0301\u01c4\u65e5\u672c\u8a9e\U0001f980\uff8a\u00bd\u093e",
]
"""Cases that change with their neighbours or their length, ligatures, marks, letters of several scripts, and signs."""

QUERY = "query q($part: String) {{ match {{ $n: Note $n.text contains $part {more} }} return {{ $n.slug }} }}"
HOSTILE = [
    "x' OR '1'='1",
    "stone\\",
    "100%",
    "o'clock",
    "a_c",
    "STONE",
    "stone",
    "ston",
    "ΔΟΣ",
    "Straße",
    "strasse",
    "日本語",
]


def texts(seed: int, count: int) -> list[str | None]:
    drawn = random.Random(seed)
    made = ["".join(drawn.choice(LETTERS) for _ in range(drawn.randrange(16))) for _ in range(count - 12)]
    known = ["stone", "Stones", "o'clock", "100%", "aXc", "ΟΔΟΣΧ", "Straße", "日本語", "stone\\", "", None, None]
    return [*made, *known]


def load(graph: omnigraph.Graph, seed: int, count: int, start: int = 0, mode: str = "append") -> None:
    slugs = [f"n{number:05}" for number in range(start, start + count)]
    numbers = [number % 7 for number in range(count)]
    graph.load(pa.table({"slug": slugs, "text": texts(seed, count), "group": numbers}), mode, type_name="Note")


SMALL = replace(EAGER, ngram_index_rows_min=0)
"""Every table gets its indexes, n-grams included."""


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[RowFilter]:
    """The conditions that indexes were asked for."""
    asked: list[RowFilter] = []
    original = TableView.looked_up

    def looked_up(table: TableView, condition: RowFilter) -> object:
        asked.append(condition)
        return original(table, condition)

    monkeypatch.setattr(TableView, "looked_up", looked_up)
    return asked


def found(graph: omnigraph.Graph, part: str, more: str = "") -> list[str]:
    return sorted(row["n.slug"] for row in graph.query(QUERY.format(more=more), {"part": part}).to_pylist())


def patterns(seed: int) -> list[str]:
    """Parts of the texts, as they are and in the other case, and parts of none."""
    drawn = random.Random(seed)
    sources = [text for text in texts(1, 300) if text]
    parts = []
    for text in sources:
        begin = drawn.randrange(len(text))
        parts.append(text[begin : begin + drawn.randrange(1, 7)])
    changed = [part.swapcase() for part in parts[::3]]
    return [*parts, *changed, *HOSTILE, ""]


def compare(graph: omnigraph.Graph) -> None:
    rows = graph.query("query q() { match { $n: Note } return { $n.slug, $n.text } }").to_pylist()
    for part in patterns(7):
        expected = sorted(row["n.slug"] for row in rows if row["n.text"] is not None and part in row["n.text"])
        assert found(graph, part) == expected, part


def test_any_part_finds_the_rows_that_hold_it(tmp_path: Path, lookups: list[RowFilter]) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=SMALL)
    load(graph, 1, 300)
    graph.optimize()
    compare(graph)
    asked = [condition for condition in lookups if isinstance(condition, Substring)]
    assert len(asked) > 40
    assert all(len(condition.text) >= 3 for condition in asked)
    load(graph, 2, 40, start=100, mode="merge")
    graph.mutate('query q() { delete Note where slug >= "n00280" }')
    load(graph, 3, 30, start=400)
    compare(graph)
    graph.optimize()
    compare(graph)
    assert graph.verify().is_clean


def test_other_conditions_are_tested_on_what_it_found(tmp_path: Path, lookups: list[RowFilter]) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=SMALL)
    load(graph, 1, 300)
    graph.optimize()
    every = found(graph, "tone")
    assert [slug for slug in every if slug == "n00288"] == found(graph, "tone", "$n.group < 2")
    assert found(graph, "tone", "$n.text contains $part") == every
    result = graph.query(QUERY.format(more=""), {"part": "tone"}, stats=True)
    assert "text (ngram)" in result.stats()
    assert lookups


def test_few_rows_are_not_worth_it_and_the_report_says_so(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=EAGER)
    load(graph, 1, 300)
    assert "no n-grams of text: 300 rows, minimum 250,000" in repr(graph.optimize())
    assert "text (ngram)" in tuned(graph, ngram_index_rows_min=200).optimize().tables[0].indexes_built


def test_few_more_rows_are_covered_and_their_segments_do_not_pile_up(tmp_path: Path) -> None:
    tuning = replace(EAGER, ngram_index_rows_min=900)
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=tuning)
    load(graph, 1, 900)
    graph.optimize(compact=False)
    segments = []
    for number in range(12):
        load(graph, number, 20, start=900 + 20 * number)
        outcome = graph.optimize(compact=False).tables[0]
        assert "text (ngram)" in outcome.indexes_built
        assert all(item.is_complete for item in outcome.coverage)
        [ngrams] = [item for item in outcome.coverage if item.spec.kind is IndexKind.NGRAM]
        segments.append(len(ngrams.segments))
    # The first rows stay as they are; beside them there are as many segments as the logarithm of what came since.
    assert segments[0] == 2
    assert max(segments) <= 4
    assert graph.optimize(compact=False).commits == ()
    compare(graph)


def test_a_rare_part_reads_little(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=SMALL)
    count = 60_000
    words = [f"note {number % 100} of the year {number % 13}" for number in range(count)]
    words[count // 2] += " zebra"
    slugs = [f"n{number:05}" for number in range(count)]
    graph.load(pa.table({"slug": slugs, "text": words}), "append", type_name="Note")

    def bytes_read() -> int:
        stranger = omnigraph.open(graph.uri, tuning=SMALL)
        stranger.query('query q() { match { $n: Note {slug: "n00000"} } return { $n.slug } }').to_pylist()
        meter = IoMeter(stranger._store)
        assert found(stranger, "zebra") == [slugs[count // 2]]
        return meter.read()[1]

    before = bytes_read()
    graph.optimize()
    assert bytes_read() * 3 < before
