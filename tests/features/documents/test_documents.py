"""The document pipeline in one process: what becomes of texts, and of texts that change."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.embed import MockEmbedder
from omnigraph.errors import EmbeddingError, InputError, NotFoundError, UsageError
from omnigraph.write.documents.parts import DocumentWork
from omnigraph.write.vectors.paced import PacedEmbedder
from tests.features.documents.texts import PIPELINE, CountingEmbedder, content, graph_at, write_texts
from tests.support.faults.s3 import Bucket, Server


def rows(graph: Any, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = graph.snapshot().to_arrow(table).to_pylist()
    return found


def test_texts_become_chunks_with_vectors_and_links(tmp_path: Path) -> None:
    graph = graph_at(tmp_path / "g")
    texts = tmp_path / "texts"
    (texts / "deep").mkdir(parents=True)
    (texts / "deep" / "a.md").write_text(
        "# Engines\n\nAda Lovelace and Alan Turing. Ada wrote it.\n\n" + "More words. " * 10
    )
    (texts / "b.txt").write_text("Alan Turing.")
    (texts / "data.csv").write_text("ignored")
    result = graph.load_documents(texts, PIPELINE)
    assert (result.counts.new, result.counts.unchanged) == (2, 0)
    assert [(row["id"], row["title"]) for row in rows(graph, "Document")] == [
        ("b.txt", "Alan Turing."),
        ("deep/a.md", "Engines"),
    ]
    chunks = sorted((row["start"], row["number"], row["text"]) for row in rows(graph, "Chunk") if row["number"])
    assert result.counts.chunks == len(rows(graph, "Chunk")) == len(chunks) + 2
    assert all(
        row["vector"] == pytest.approx(MockEmbedder().embed([row["text"]], 4, "document")[0])
        for row in rows(graph, "Chunk")
    )
    found = graph.query(
        "query q() { match { $c: Chunk $c partOf $d $c $m: mentions $p } "
        "return { $d.path as path, $p.name as name, $m.times as times } order { path, name } }"
    ).to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("b.txt", "Alan Turing", 1),
        ("deep/a.md", "Ada Lovelace", 2),
        ("deep/a.md", "Alan Turing", 1),
    ]
    assert result.commit is not None
    assert result.commit.provenance["documents"] == str(texts)
    assert graph.verify(deep=True).is_clean


def test_a_second_run_does_nothing_and_a_changed_text_embeds_only_what_is_new(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    graph, texts = graph_at(tmp_path / "g", embedder), write_texts(tmp_path / "texts")
    graph.load_documents(texts, PIPELINE)
    before, called = content(graph), len(embedder.texts)
    again = graph.load_documents(texts, PIPELINE)
    assert (again.commit, again.counts.unchanged, len(embedder.texts)) == (None, 5, called)
    first = texts / "text4.md"
    first.write_text(first.read_text() + "A last sentence that mentions Ada.\n")
    changed = graph.load_documents(texts, PIPELINE)
    assert (changed.counts.changed, changed.counts.unchanged) == (1, 4)
    assert len(embedder.texts) - called == 1
    assert "Ada" in embedder.texts[-1]
    assert set(before) - set(content(graph)) != set()
    assert changed.commit is not None
    graph.revert(changed.commit.id)
    assert content(graph) == before


def test_chunks_that_are_gone_are_removed_with_their_edges_and_others_stay(tmp_path: Path) -> None:
    graph, texts = graph_at(tmp_path / "g"), write_texts(tmp_path / "texts")
    graph.load_documents(texts, PIPELINE)
    graph.load([{"type": "Document", "data": {"path": "text4.md", "rank": 0.5}}])
    first, *_, last = sorted(
        (row for row in rows(graph, "Chunk") if "text 4" in row["text"] or "Text 4" in row["text"]),
        key=lambda row: row["number"],
    )
    graph.load([{"edge": "Cites", "from": "Alan Turing", "to": row["id"]} for row in (first, last)])
    changed = texts / "text4.md"
    changed.write_text(changed.read_text()[: first["start"] + len(first["text"])])
    graph.load_documents(texts, PIPELINE)
    assert [row["dst"] for row in rows(graph, "Cites")] == [first["id"]]
    document = next(row for row in rows(graph, "Document") if row["id"] == "text4.md")
    assert document["rank"] == 0.5
    assert graph.verify(deep=True).is_clean


def test_prune_removes_documents_that_the_input_no_longer_has(tmp_path: Path) -> None:
    graph, texts = graph_at(tmp_path / "g"), write_texts(tmp_path / "texts")
    graph.load_documents(texts, PIPELINE)
    (texts / "text1.md").unlink()
    assert graph.load_documents(texts, PIPELINE).counts.removed == 0
    result = graph.load_documents(texts, PIPELINE, prune=True)
    assert (result.counts.removed, result.counts.unchanged) == (1, 4)
    assert [row["id"] for row in rows(graph, "Document")] == ["text0.md", "text2.md", "text3.md", "text4.md"]
    fresh = graph_at(tmp_path / "fresh")
    fresh.load_documents(texts, PIPELINE)
    assert content(graph) == content(fresh)


@pytest.mark.parametrize("options", [{"batch": 2}, {"batch": 2, "partitions": 2}, {"batch": 1, "atomic": False}])
def test_batches_and_parts_give_the_same_graph(tmp_path: Path, options: dict[str, Any]) -> None:
    texts = write_texts(tmp_path / "texts")
    whole, parted = graph_at(tmp_path / "whole"), graph_at(tmp_path / "parted")
    whole.load_documents(texts, PIPELINE)
    before = parted.snapshot().commit_id
    result = parted.load_documents(texts, PIPELINE, **options)
    assert content(parted) == content(whole)
    assert len(result.commits) == (5 if options.get("atomic") is False else 1)
    assert [branch.name for branch in parted.branches()] == ["main"]
    if options.get("atomic", True):
        assert result.commit is not None
        parted.revert(result.commit.id)
        assert parted.diff(before, "main").total.total == 0


def test_an_interrupted_run_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = write_texts(tmp_path / "texts")
    embedder = CountingEmbedder()
    graph, whole = graph_at(tmp_path / "g", embedder), graph_at(tmp_path / "whole")
    whole.load_documents(texts, PIPELINE)
    before, run, calls = content(graph), DocumentWork.run, [0]

    def killed(work: DocumentWork, part: Any) -> Any:
        calls[0] += 1
        if calls[0] == 3:
            raise KeyboardInterrupt
        return run(work, part)

    monkeypatch.setattr(DocumentWork, "run", killed)
    with pytest.raises(KeyboardInterrupt):
        graph.load_documents(texts, PIPELINE, batch=2)
    # Nothing of it is visible, and what it has done is kept.
    assert content(graph) == before
    done = len(embedder.texts)
    result = graph.load_documents(texts, PIPELINE, batch=2)
    assert result.resumed
    assert (result.counts.unchanged, result.counts.new) == (4, 1)
    assert content(graph) == content(whole)
    assert len(set(embedder.texts)) == len(embedder.texts) > done
    assert [branch.name for branch in graph.branches()] == ["main"]


def test_new_entities_are_linked_by_a_refresh(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    graph, texts = graph_at(tmp_path / "g", embedder), write_texts(tmp_path / "texts")
    graph.load_documents(texts, PIPELINE)
    graph.load([{"type": "Person", "data": {"name": "nobody"}}])
    called = len(embedder.texts)
    assert graph.load_documents(texts, PIPELINE).commit is None
    graph.load_documents(texts, PIPELINE, refresh=True)
    assert "nobody" in {row["dst"] for row in rows(graph, "Mentions")}
    assert len(embedder.texts) == called


def test_rows_of_tables_are_documents_with_their_properties(tmp_path: Path) -> None:
    given = [{"path": "a", "text": "Ada.", "lang": "en"}, {"path": "b", "text": "Alan Turing.", "title": "Given"}]
    graph = graph_at(tmp_path / "g")
    graph.load_documents(given, PIPELINE)
    assert [(row["id"], row["lang"], row["title"]) for row in rows(graph, "Document")] == [
        ("a", "en", "Ada."),
        ("b", None, "Given"),
    ]
    table = pa.table(
        {"path": ["a", "b"], "text": ["Ada.", "Alan Turing."], "lang": ["en", None], "title": [None, "Given"]}
    )
    assert graph.load_documents(table, PIPELINE).counts.unchanged == 2
    file = tmp_path / "rows.jsonl"
    file.write_text('{"id": "a", "text": "Ada.", "lang": "en"}\n')
    assert graph.load_documents(file, PIPELINE).counts.unchanged == 1


def test_without_an_embedder_a_remark_says_so(tmp_path: Path) -> None:
    import omnigraph

    graph_at(tmp_path / "g")
    graph, texts = omnigraph.open(tmp_path / "g"), write_texts(tmp_path / "texts", 1)
    result = graph.load_documents(texts, PIPELINE)
    assert result.remarks[0].startswith("no embedder is configured, so Chunk.vector stays empty")
    assert {row["vector"] for row in rows(graph, "Chunk")} == {None}
    embedded = omnigraph.open(tmp_path / "g", embedder=MockEmbedder())
    embedded.load_documents(texts, PIPELINE, refresh=True)
    assert all(row["vector"] for row in rows(embedded, "Chunk"))


def test_a_preview_counts_and_neither_embeds_nor_writes(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    graph, texts = graph_at(tmp_path / "g", embedder), write_texts(tmp_path / "texts")
    preview = graph.load_documents_preview(texts, PIPELINE, branch="x", base="main")
    assert embedder.texts == []
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert graph.load_documents(texts, PIPELINE, branch="x", base="main").counts == preview.counts


def test_a_failed_run_leaves_nothing(tmp_path: Path) -> None:
    class Broken(CountingEmbedder):
        def embed(self, *_: Any) -> Any:
            raise EmbeddingError("no service")

    graph, texts = graph_at(tmp_path / "g", Broken()), write_texts(tmp_path / "texts")
    before = content(graph)
    with pytest.raises(EmbeddingError, match="no service"):
        graph.load_documents(texts, PIPELINE, branch="x", base="main")
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert content(graph) == before


@pytest.mark.s3
def test_texts_and_graph_may_be_in_a_bucket(tmp_path: Path, s3_bucket: Bucket, s3_server: Server) -> None:
    import omnigraph
    from tests.features.documents.texts import PEOPLE, SCHEMA

    texts = write_texts(tmp_path / "texts", 2)
    for file in texts.iterdir():
        s3_bucket.client.put_object(Bucket=s3_bucket.name, Key=f"texts/{file.name}", Body=file.read_bytes())
    options = s3_server.storage_options()
    graph = omnigraph.create(s3_bucket.uri("g"), SCHEMA, storage_options=options, embedder=MockEmbedder())
    graph.load(PEOPLE)
    graph.load_documents(s3_bucket.uri("texts/"), PIPELINE)
    local = graph_at(tmp_path / "local")
    local.load_documents(texts, PIPELINE)
    assert content(graph) == content(local)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ("missing", NotFoundError, "there is no file"),
        ("empty", NotFoundError, "holds no texts"),
        ([{"path": "a"}], InputError, "a document needs the text column 'text'"),
        ([{"text": "a"}], InputError, "a document needs the text column 'path'"),
        ([{"path": "a", "text": "x", "laang": "en"}], InputError, "Document has no property 'laang'"),
        ([{"path": "a", "text": "x"}] * 2, UsageError, "the document 'a' is given twice"),
        (7, UsageError, "documents must be files, a table or records, got int"),
        ("latin", InputError, "is not UTF-8 text"),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, data: Any, error: type[Exception], message: str) -> None:
    graph = graph_at(tmp_path / "g")
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin").mkdir()
    (tmp_path / "latin" / "a.txt").write_bytes("Zürich".encode("latin-1"))
    with pytest.raises(error, match=message):
        graph.load_documents(tmp_path / data if isinstance(data, str) else data, PIPELINE)
    shutil.rmtree(tmp_path / "g")


def test_a_rate_is_kept_by_waiting() -> None:
    now, slept = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    paced = PacedEmbedder(MockEmbedder(), 60, lambda: now[0], sleep)
    for _ in range(3):
        paced.embed(["a"], 2, "document")
    now[0] += 10
    paced.embed(["a"], 2, "document")
    assert slept == [1.0, 1.0]
    assert paced.model == MockEmbedder().model
