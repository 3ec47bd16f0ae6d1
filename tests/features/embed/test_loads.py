"""Loads make the vectors of `@embed` properties: each text once, none again that did not change, and all or nothing."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.core.ports import EmbeddingRole
from omnigraph.core.tuning import Tuning
from omnigraph.embed.providers import OpenAi
from omnigraph.embed.remote import Patience, RemoteEmbedder
from omnigraph.errors import EmbeddingError, EmbeddingUnavailable, OmnigraphError, ViolationError
from omnigraph.write import limits
from tests.features.bulk.loading import THROUGH_DISK
from tests.features.embed.documents import SCHEMA, Recording, doc, note, stored, vector
from tests.features.embed.service import Answer, openai_answer, serving


@pytest.fixture
def embedder() -> Recording:
    return Recording()


@pytest.fixture
def graph(tmp_path: Path, embedder: Recording, tuning: Tuning) -> omnigraph.Graph:
    return omnigraph.create(tmp_path / "g", SCHEMA, durability="os", embedder=embedder, tuning=tuning)


@pytest.fixture(params=["memory", "disk", "hashed"], autouse=True)
def tuning(request: pytest.FixtureRequest) -> Tuning:
    """Every way a load takes: in memory, through disk, and with committed ids found by their hashes."""
    tuning = Tuning() if request.param == "memory" else Tuning(**THROUGH_DISK)
    return replace(tuning, filtered_ids_max=0) if request.param == "hashed" else tuning


def data_files(graph: omnigraph.Graph) -> set[str]:
    return {str(path) for path in Path(graph.uri).glob("nodes/**/data/*")}


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_missing_vectors_are_made_and_given_ones_stay(graph: omnigraph.Graph, embedder: Recording, mode: str) -> None:
    records = [
        doc("a", text="apples"),
        doc("b", text="boats", vec=[1, 0, 0], named=[0, 1, 0], wide=[0, 0, 1, 0, 0]),
        doc("c", text="boats", vec=None, wide=[0, 0, 1, 0, 0]),
        doc("none"),
        doc("blank", text=" \n"),
        note("n", body="apples"),
        {"edge": "About", "from": "n", "to": "a"},
    ]
    graph.load(records, mode)
    found = stored(graph)
    assert {role for _, _, role in embedder.requests} == {"document"}
    assert found["a"]["vec"] == found["a"]["named"] == found["n"]["vec"] == vector("apples")
    assert found["a"]["wide"] == vector("apples", 5)
    assert (found["b"]["vec"], found["b"]["named"]) == ([1, 0, 0], [0, 1, 0])
    assert found["c"]["vec"] == vector("boats")
    assert not {"vec", "named", "wide"} & {*found["none"], *found["blank"]}
    wide, narrow = (
        [text for texts, size, _ in embedder.requests if size == wanted for text in texts] for wanted in (5, 3)
    )
    assert sorted(narrow) == ["apples", "boats"], "no text twice, whatever property or type it is for"
    assert wide == ["apples"]


def test_a_text_is_embedded_once_for_all_files_of_a_load(
    graph: omnigraph.Graph, embedder: Recording, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in range(3)]
    for number, file in enumerate(paths):
        records = [doc(f"{number}-{row}", text=f"text {row % 4}") for row in range(10)]
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
    graph.load([str(file) for file in paths])
    assert embedder.texts() == [f"text {number}" for number in range(4)]
    assert all(data["vec"] == vector(data["text"]) for data in stored(graph).values())


@pytest.mark.parametrize("mode", ["merge", "overwrite"])
def test_what_did_not_change_is_not_embedded_again(graph: omnigraph.Graph, embedder: Recording, mode: str) -> None:
    own = [0.0, 0.0, 1.0]
    graph.load([doc(slug, text=f"text {slug}") for slug in "abcdef"] + [doc("own", text="mine", vec=own), doc("late")])
    graph.mutate('query q() { delete Doc where slug = "b" }')
    embedder.requests.clear()
    again = [
        doc("a", text="text a", year=7),
        doc("b", text="text b"),
        doc("c", text="other"),
        doc("d"),
        doc("e", text="text e", vec=own),
        doc("f", text="text f"),
        doc("g", text="text a"),
        doc("own", text="mine"),
        doc("late", text="late"),
    ]
    graph.load(again, mode)
    assert embedder.texts() == ["late", "other", "text a", "text b"], "text a for g; that of a is kept"
    found = stored(graph)
    expected = {
        slug: vector(text)
        for slug, text in {"a": "text a", "b": "text b", "c": "other", "f": "text f", "late": "late"}.items()
    }
    assert {slug: found[slug]["vec"] for slug in expected} == expected
    assert (found["e"]["vec"], found["own"]["vec"]) == (own, own)
    assert "vec" not in found["d"]
    assert found["a"]["year"] == 7
    graph.load(again, mode)
    assert embedder.texts() == []


@pytest.mark.parametrize("mode", ["upsert", "update"])
def test_a_vector_follows_its_text_when_others_are_kept(graph: omnigraph.Graph, embedder: Recording, mode: str) -> None:
    graph.load([doc("a", text="apples"), doc("b", text="boats"), doc("c", text="cars"), note("n", body="news")])
    embedder.texts()
    graph.load([doc("a", year=1), doc("b", text="boats", year=2), doc("c", text="clouds"), note("n")], mode)
    assert embedder.texts() == ["clouds"]
    found = stored(graph)
    assert [found[slug]["vec"] for slug in "abc"] == [vector("apples"), vector("boats"), vector("clouds")]
    assert (found["a"]["year"], found["n"]["vec"]) == (1, vector("news"))
    graph.load([doc("a", text=None), doc("b", vec=[1, 0, 0])], mode)
    found = stored(graph)
    assert (found["a"].get("vec"), found["b"]["vec"], found["b"]["text"]) == (None, [1, 0, 0], "boats")
    with pytest.raises(ViolationError, match=r"Note\.vec"):
        graph.load([note("n", body=None)], mode)


def test_rows_of_one_id_have_the_vectors_of_their_own_texts(
    tmp_path: Path, embedder: Recording, tuning: Tuning
) -> None:
    schema = "node Doc { text: String? vec: Vector(3)? @embed(text) }"
    graph = omnigraph.create(tmp_path / "unkeyed", schema, durability="os", embedder=embedder, tuning=tuning)
    graph.load([{"type": "Doc", "data": {"id": "x", "text": "one"}}])
    embedder.requests.clear()
    twice = [{"type": "Doc", "data": {"id": "x", "text": text}} for text in ("one", "two")]
    graph.load(twice)
    assert embedder.texts() == ["two"]
    assert stored(graph)["x"]["vec"] == vector("two")


def test_a_required_vector_is_made_or_reported_with_its_line(graph: omnigraph.Graph, embedder: Recording) -> None:
    with pytest.raises(ViolationError) as caught:
        graph.load([note("a", body="here"), note("b"), doc("d", text="here"), note("c", body="")], "append")
    assert caught.value.counts == {"required/node:Note/vec": 2}
    assert [sample.place.line for sample in caught.value.samples] == [2, 4]
    assert "missing required property Note.vec (Vector(3))" in str(caught.value)
    plain = omnigraph.open(graph.uri, tuning=graph.tuning)
    with pytest.raises(ViolationError, match=r"missing required property Note\.vec \(Vector\(3\)\)"):
        plain.load([note("a", body="here")])
    graph.load([note("a", body="here"), note("b", vec=[1, 2, 3])])
    assert {slug: data["vec"] for slug, data in stored(graph).items()} == {"a": vector("here"), "b": [1, 2, 3]}


def test_arrow_tables_get_their_vectors_too(graph: omnigraph.Graph) -> None:
    graph.load(pa.table({"slug": ["a", "b"], "body": ["one", "two"]}), type_name="Note")
    assert {slug: data["vec"] for slug, data in stored(graph).items()} == {"a": vector("one"), "b": vector("two")}


def test_without_an_embedder_vectors_stay_null(graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for something else")
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "0")
    omnigraph.open(graph.uri, tuning=graph.tuning).load([doc("a", text="apples")])
    assert "vec" not in stored(graph)["a"]


@pytest.mark.parametrize("variable", ["OMNIGRAPH_EMBEDDINGS_MOCK", "OMNIGRAPH_EMBED_PROVIDER"])
def test_the_environment_may_name_the_embedder(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1" if variable.endswith("MOCK") else "mock")
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "model-a")
    omnigraph.open(graph.uri, tuning=graph.tuning).load([doc("a", text="apples")])
    assert stored(graph)["a"]["named"] == vector("apples")


def test_another_model_than_the_recorded_one_is_refused_unless_it_is_not_needed(graph: omnigraph.Graph) -> None:
    other = omnigraph.open(graph.uri, tuning=graph.tuning, embedder=Recording("model-b"))
    head = graph.snapshot().commit_id
    with pytest.raises(EmbeddingError, match=r"Doc\.named.*'model-a'.*'model-b'"):
        other.load([doc("a", text="apples")])
    assert graph.snapshot().commit_id == head
    other.load([doc("a", text="apples", named=[1, 0, 0]), note("n", body="apples")])
    assert stored(graph)["a"]["vec"] == vector("apples")


@dataclass
class Failing(Recording):
    """Fails at the second call."""

    error: Exception = field(default_factory=lambda: EmbeddingUnavailable("no answer"))

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
        if self.requests:
            raise self.error
        return super().embed(texts, dimension, role)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(EmbeddingUnavailable("no answer"), EmbeddingUnavailable), (RuntimeError("bug"), EmbeddingError)],
)
def test_a_provider_that_fails_changes_nothing(
    graph: omnigraph.Graph, error: Exception, kind: type[OmnigraphError]
) -> None:
    head, files = graph.snapshot().commit_id, data_files(graph)
    failing = omnigraph.open(graph.uri, tuning=graph.tuning, embedder=Failing(error=error))
    with pytest.raises(kind):
        failing.load([doc(f"d{number}", text=f"text {number}") for number in range(9)])
    assert graph.snapshot().commit_id == head
    assert data_files(graph) == files
    graph.load([doc("d", text="text")])
    assert stored(graph)["d"]["vec"] == vector("text")


@pytest.mark.parametrize("wrong", [[], [[1.0]], [[1.0, 2.0, float("nan")]], [["x", 1, 2]], [[1.0, 0.0, 0.0]] * 2])
def test_a_vector_of_no_use_is_an_error(graph: omnigraph.Graph, wrong: list[list[Any]]) -> None:
    class Broken(Recording):
        def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
            return wrong

    with pytest.raises(EmbeddingError, match="the embedder gave"):
        omnigraph.open(graph.uri, tuning=graph.tuning, embedder=Broken()).load([doc("a", text="apples")])
    assert stored(graph) == {}


def test_nothing_is_embedded_for_rows_that_are_wrong(graph: omnigraph.Graph, embedder: Recording) -> None:
    with pytest.raises(ViolationError):
        graph.load([doc("a", text="apples", year=4000), doc("b", text="boats")])
    assert embedder.requests == []


def test_an_embedder_is_given_a_bounded_number_of_texts(graph: omnigraph.Graph, embedder: Recording) -> None:
    rows = 2 * limits.TEXTS_PER_CALL + 10
    graph.load([note(f"n{number}", body=f"text {number}") for number in range(rows)])
    assert [len(texts) for texts, _, _ in embedder.requests] == [limits.TEXTS_PER_CALL, limits.TEXTS_PER_CALL, 10]


def test_a_service_that_is_busy_is_asked_again(graph: omnigraph.Graph) -> None:
    busy, good = Answer({"error": "slow down"}, status=429), Answer(openai_answer([3.0, 0.0, 4.0]))
    with serving(busy, busy, good) as service:
        remote = RemoteEmbedder(OpenAi(), service.url, "m", "key", Patience(backoff_ms=1))
        omnigraph.open(graph.uri, tuning=graph.tuning, embedder=remote).load([note("n", body="text")])
        assert [request.body["input"] for request in service.requests] == [["text"]] * 3
    assert stored(graph)["n"]["vec"] == pytest.approx([0.6, 0.0, 0.8])


def test_a_service_that_stays_silent_is_given_up_at_its_deadline(graph: omnigraph.Graph) -> None:
    with serving(Answer(silent=True)) as service:
        remote = RemoteEmbedder(
            OpenAi(), service.url, "m", "key", Patience(timeout_ms=20, backoff_ms=1, deadline_ms=50)
        )
        with pytest.raises(EmbeddingUnavailable):
            omnigraph.open(graph.uri, tuning=graph.tuning, embedder=remote).load([note("n", body="text")])
    assert stored(graph) == {}


def test_loads_that_race_keep_the_vectors_of_their_texts(graph: omnigraph.Graph, embedder: Recording) -> None:
    graph.load([doc("a", text="first")])
    entered, go_on = threading.Event(), threading.Event()

    class Waiting(Recording):
        def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
            entered.set()
            assert go_on.wait(30)
            return super().embed(texts, dimension, role)

    slow = omnigraph.open(graph.uri, tuning=graph.tuning, embedder=Waiting())
    thread = threading.Thread(target=lambda: slow.load([doc("a", text="first"), doc("b", text="slow")]))
    thread.start()
    assert entered.wait(30)
    graph.load([doc("a", text="second")])
    go_on.set()
    thread.join()
    found = stored(graph)
    assert (found["a"]["text"], found["a"]["vec"]) == ("first", vector("first"))
    assert found["b"]["vec"] == vector("slow")


def test_rejected_rows_cost_no_embedding_and_the_others_get_their_vectors(
    graph: omnigraph.Graph, embedder: Recording, tmp_path: Path
) -> None:
    records = [doc("a", text="apples"), doc("bad", text="pears", vec="none"), doc("b", text="boats")]
    loaded = graph.load(records, reject_to=tmp_path / "rejected.jsonl")
    found = stored(graph)
    assert (loaded.rejected, sorted(found)) == (1, ["a", "b"])
    assert [found[name]["vec"] for name in ("a", "b")] == [vector("apples"), vector("boats")]
    assert "pears" not in {text for texts, _, _ in embedder.requests for text in texts}
