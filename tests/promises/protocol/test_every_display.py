"""Every public type shows itself as short text and as escaped HTML; a new type without a display fails here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.core.display import shown_value
from omnigraph.engine.results import VerifyProblem
from tests.features.documents import texts
from tests.features.external.shop import Shop
from tests.features.resolve.people import RULES, graph_of, person

HOSTILE = '<b onclick="x">&</b>'
SCHEMA = """
node Person {
    name: String @key
    note: String?
    vector: Vector(32)?
    photo: Blob?
}
edge Knows: Person -> Person
"""
PEOPLE = "query people() { match { $p: Person } return { $p, $p.note, $p.vector } }"
RENAME = 'query rename() { update Person set { note: "<b>&" } where name = "ann" }'

INPUTS = {"Action", "Actor", "Authorizer", "Embedder", "LoadOptions", "OfferedVersion", "Resolution", "Tuning"}
INPUTS |= {"Comparison", "DocumentOptions", "DocumentPipeline", "ResolveRules"}
"""Types that callers fill in; they are not results."""

VOID = {"br", "input", "meta"}

RESULTS = sorted(
    name for name in omnigraph.__all__ if name not in INPUTS and isinstance(getattr(omnigraph, name), type)
)
RESULTS = [name for name in RESULTS if not issubclass(getattr(omnigraph, name), Exception)]


class _Balanced(HTMLParser):
    """Fails for a tag that is not closed, and for one that the graph's own text made."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert all(name != "onclick" for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One value of every public type, from a graph whose texts are hostile, by the name of the type."""
    directory = tmp_path_factory.mktemp("every")
    graph = omnigraph.create(directory / "graph", SCHEMA)
    people: list[dict[str, Any]] = [
        {"type": "Person", "data": {"name": name, "note": HOSTILE, "vector": [0.1] * 32}} for name in ("ann", HOSTILE)
    ]
    people[0]["data"]["photo"] = "base64:AAEC"
    edges = [{"edge": "Knows", "from": "ann", "to": HOSTILE, "data": {}}]
    values: list[Any] = [graph, graph.load(people + edges, "append", actor=HOSTILE, message=HOSTILE)]
    loaded = values[1].commit
    values += [graph.create_branch("side", actor=HOSTILE), graph.branches(), loaded]
    values += [graph.mutate_preview(RENAME, branch="side"), graph.mutate(RENAME, branch="side", stats=True)]
    values += [values[-1].operators[0], graph.delete_branch_preview("side")]
    values += [graph.merge_preview("side"), graph.merge("side"), graph.diff(loaded.id)]
    head = next(graph.commits()).id
    values += [graph.revert_preview(head), graph.revert(head)]
    values += [graph.plan_schema(SCHEMA + "node City { name: String @key }\n")]
    values += [graph.apply_schema(SCHEMA + "node City { name: String @key }\n")]
    values += [graph.snapshot(), graph.catalog(), graph.schema, graph.explain(PEOPLE), graph.query(PEOPLE)]
    values += [graph.prepare(PEOPLE), omnigraph.open("https://host.example/graphs/kb", token="secret")]
    kept = graph.mutate("query kept() { update Person set { note: note } where true returning { name, note } }")
    values += [kept.returned]
    values += [graph.nodes(), graph.nodes("Person"), graph.read_blob("Person", "ann", "photo")]
    values += [graph.analyze, graph.analyze.degrees("Knows"), graph.draw(), graph.nx()]
    values += [omnigraph.from_networkx(graph.to_networkx("Person"))]
    page = graph.changes("beginning")
    values += [graph.feed(), graph.change_baseline(), page, page.blocks[1], next(page.changes())]
    values += [graph.commit_changes(loaded.id), graph.optimize(), graph.cleanup(dry_run=True), graph.doctor()[0]]
    values += [graph.verify(), VerifyProblem(HOSTILE, HOSTILE, ()), omnigraph.repair(directory / "graph")]
    values += [graph.mirror(directory / "mirror"), *graph.mirrors()]
    values += [values[-2].tables[0]]
    exported = graph.export_files(directory / "files", "jsonl")
    frame = pa.table({"id": [1, 2], "note": [HOSTILE, HOSTILE]})
    inferred = omnigraph.infer_schema({"Person": frame})
    values += [exported, exported.files[0], graph.copy(directory / "copy"), inferred, inferred.types[0]]
    values += [omnigraph.import_data(directory / "imported", {"Person": frame})]
    values += [*_documents(directory), *_resolved(directory), *_external(directory)]
    return {type(value).__name__: value for value in values}


def _documents(directory: Path) -> Iterator[Any]:
    graph = texts.graph_at(directory / "documents")
    source = texts.write_texts(directory / HOSTILE.replace("/", ""))
    yield graph.load_documents_preview(source, texts.PIPELINE)
    yield graph.load_documents(source, texts.PIPELINE)


def _resolved(directory: Path) -> Iterator[Any]:
    twice = [person(name, HOSTILE, email="one@example.org") for name in ("a", HOSTILE)]
    graph = graph_of(directory / "resolved", *twice)
    preview = graph.resolve_preview("Person", RULES)
    yield preview
    yield preview.changes
    yield graph.resolve("Person", RULES)


def _external(directory: Path) -> Iterator[Any]:
    shop = Shop.create(directory / "shop")
    shop.write("b", 8)
    yield shop.graph.refresh_external(message=HOSTILE)
    yield shop.graph.external_types()
    yield shop.graph.external_types()[0]


@pytest.mark.parametrize("name", RESULTS)
def test_every_public_result_shows_itself_as_text_and_as_html(name: str, shown: dict[str, Any]) -> None:
    assert name in shown, f"{name} needs an example here, and a display (omnigraph.core.display)"
    value = shown[name]
    text = repr(value)
    assert " object at 0x" not in text
    assert not re.match(r"\w+\(\w+=", text), "the generated form of a dataclass is not a display"
    assert len(text) < 5_000
    parser = _Balanced()
    parser.feed(value._repr_html_())
    assert not parser.open


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda shown: repr(shown["QueryResult"]), "[0.1, 0.1, 0.1, 0.1, ... 32]"),
        (lambda shown: shown["EntityView"]._repr_html_(), "[0.1, 0.1, 0.1, 0.1, ... 32]"),
        (lambda shown: repr(shown["LoadResult"]), "3 entities"),
        (lambda shown: repr(shown["MutationResult"]), "1 node, 0 edges"),
        (lambda shown: shown["GraphCommit"]._repr_html_(), ">node:Person</td>"),
    ],
)
def test_displays_are_short_and_count_correctly(
    shown: dict[str, Any], read: Callable[[dict[str, Any]], str], expected: str
) -> None:
    assert expected in read(shown)


def test_long_values_are_cut_and_lists_say_how_long_they_are() -> None:
    assert shown_value([0.12, -0.5] * 768) == "[0.12, -0.5, 0.12, -0.5, ... 1,536]"
    assert shown_value(list(range(6))) == "[0, 1, 2, 3, 4, 5]"
    assert len(shown_value("x" * 1000)) == 200
    assert shown_value(b"abc") == "3 bytes"
    assert shown_value({"a": None, "b": True}) == "{a: , b: true}"
