"""The page about search says what is true: its queries run, and its variables and defaults are those of the code."""

import re
from pathlib import Path

import pytest

import omnigraph
from omnigraph.embed import MockEmbedder
from omnigraph.embed.environment import MOCK, MOCK_VARIABLE, PREFIX, PROVIDERS
from omnigraph.embed.remote import Patience
from omnigraph.errors import EmbeddingError, EmbeddingUnavailable

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "user" / "search.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
QUERIES = [body for language, body in BLOCKS if language == "gq"]
PARAMS = {"words": "graphs", "vector": [1, 0, 0, 0], "text": "about graphs"}
TEXTS = {
    "a": ("Running graphs", "graph databases in production", 2021),
    "b": ("The cooking of eggs", "nothing about edges", 2019),
    "c": ("A graph", "letters and points", 2023),
    "d": ("Without a text", None, 2024),
}
FOUND = {
    "about": ["c"],
    "typo": ["A graph", "Running graphs"],
    "relevant": ["A graph", "Running graphs"],
    "similar": ["A graph", "Running graphs"],
    "hybrid": ["Running graphs", "A graph", "The cooking of eggs"],
    "experts": ["Ann"],
    "like": ["The cooking of eggs", "Running graphs", "A graph"],
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    (schema,) = (body for language, body in BLOCKS if language == "pg")
    embedder = MockEmbedder("text-embedding-3-large")
    graph = omnigraph.create(tmp_path_factory.mktemp("search") / "g", schema, durability="os", embedder=embedder)
    records: list[dict[str, object]] = [{"type": "Author", "data": {"name": "Ann"}}]
    for slug, (title, body, year) in TEXTS.items():
        vector = None if body is None else list(embedder.embed([body], 4, "document")[0])
        data = {"slug": slug, "title": title, "body": body, "year": year, "embedding": vector, "lang": "en"}
        records += [{"type": "Article", "data": data}, {"edge": "Wrote", "from": "Ann", "to": slug}]
    graph.load(records)
    return graph


@pytest.mark.parametrize("text", QUERIES)
def test_every_query_runs_and_finds_what_the_page_says(graph: omnigraph.Graph, text: str) -> None:
    result = graph.query(text, {name: value for name, value in PARAMS.items() if f"${name}:" in text})
    found = [next(iter(row.values())) for row in result.to_pylist()]
    expected = FOUND[result.query_name]
    assert (found if "order" in text else sorted(found)) == expected


def test_nothing_on_the_page_goes_unchecked() -> None:
    assert {language for language, _ in BLOCKS} == {"pg", "gq", "python"}
    assert len(QUERIES) == len(FOUND)


def test_providers_and_their_defaults_are_those_of_the_code() -> None:
    for name, defaults in PROVIDERS.items():
        (row,) = re.findall(rf"^\| `{name}`.*$", PAGE, re.MULTILINE)
        for value in (defaults.base_url, defaults.model, *defaults.keys):
            assert f"`{value}`" in row
    assert f"| `{MOCK}` |" in PAGE


def test_variables_and_their_defaults_are_those_of_the_code() -> None:
    patience = Patience()
    defaults = {
        "TIMEOUT_MS": patience.timeout_ms,
        "RETRY_ATTEMPTS": patience.attempts,
        "RETRY_BACKOFF_MS": patience.backoff_ms,
        "DEADLINE_MS": patience.deadline_ms,
        "REQUESTS_PER_MINUTE": patience.requests_per_minute,
    }
    for name, value in defaults.items():
        assert re.search(rf"^\| `{PREFIX}{name}` \|.*\| {value} \|$", PAGE, re.MULTILINE)
    for name in (f"{PREFIX}PROVIDER", f"{PREFIX}BASE_URL", f"{PREFIX}MODEL", MOCK_VARIABLE):
        assert f"`{name}`" in PAGE


def test_the_errors_are_named_by_their_codes() -> None:
    for error in (EmbeddingError, EmbeddingUnavailable):
        assert f"| `{error.code}` |" in PAGE
