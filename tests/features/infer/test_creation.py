"""Graphs made from files, frames and schemas in every form, and messages for what is neither."""

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import AlreadyExistsError, OmnigraphError, ViolationError
from tests.features.infer.files import COUNTS, SCHEMA


@dataclasses.dataclass
class Person:
    id: int
    name: str


def _frames(read: Callable[[str], Any]) -> dict[str, Any]:
    return {"Person": read("people.csv"), "Knows": read("knows.csv")}


@pytest.mark.usefixtures("work")
def test_files_frames_and_columns_become_a_graph_with_their_rows() -> None:
    sources: list[Any] = [
        ["people.csv", "knows.csv"],
        {"Person": "people.csv", "Knows": Path("knows.csv")},
        _frames(pandas.read_csv),
        _frames(lambda path: polars.scan_csv(path, try_parse_dates=True)),
        {"Person": {"id": range(1, 7)}, "Knows": {"src": [1, 2], "dst": [2, 3]}},
        {
            "Person": [Person(number, "x") for number in range(1, 7)],
            "Knows": [{"src": 1, "dst": 2}, {"src": 2, "dst": 1}],
        },
    ]
    sources[4]["Person"] = {"id": list(range(1, 7))}
    for number, data in enumerate(sources):
        graph = omnigraph.create(f"{number}.omni", data, durability="os")
        assert graph.snapshot().counts() == COUNTS
        assert "personId: I64 @key" in graph.schema_text()
        assert {row["personId"] for row in graph.sql("SELECT personId FROM Person").to_pylist()} == set(range(1, 7))


def test_integers_with_gaps_of_a_pandas_frame_are_integers(tmp_path: Path) -> None:
    frame = pandas.DataFrame(
        {"id": [1, 2, 3], "age": [41, None, 17], "size": [1.5, None, 2.0], "whole": [1.0, 2.0, 3.0]}
    )
    frame["large"] = [2.0**60, None, 1.0]
    frame["none"] = [float("nan")] * 3

    graph = omnigraph.create(tmp_path / "gaps.omni", {"Person": frame}, durability="os")

    types = {name: graph.nodes("Person").arrow().schema.field(name).type for name in frame.columns[1:]}
    assert {name: str(type_) for name, type_ in types.items()} == {
        "age": "int64",
        "size": "double",
        "whole": "double",
        "large": "double",
        "none": "double",
    }
    assert "which pandas stores as floats" in graph.schema_text()
    assert graph.nodes("Person").arrow().column("age").to_pylist() == [41, None, 17]


@pytest.mark.usefixtures("work")
def test_an_inferred_schema_is_text_and_creates_an_empty_graph_that_its_data_fits() -> None:
    inferred = omnigraph.infer_schema(["people.csv", "knows.csv"])
    assert str(inferred) == inferred.text == repr(inferred) == SCHEMA
    assert "@key" in inferred._repr_html_()
    assert inferred.map["Person.fullName"] == "Full Name"
    assert inferred.map["Knows.from"] == "src"
    assert inferred.ignore == []
    graph = omnigraph.create("empty.omni", inferred)
    assert set(graph.snapshot().counts().values()) <= {0}
    # The id of a keyed node is its key, and other names are in the map.
    loaded = graph.load("people.csv", type_name="Person", map={"fullName": inferred.map["Person.fullName"]})
    assert (loaded.total, graph.load("knows.csv", type_name="Knows").total) == (6, 2)
    assert graph.load(inferred).total == 8
    assert graph.snapshot().counts() == COUNTS


@pytest.mark.usefixtures("work")
def test_a_path_of_a_schema_is_read_and_open_creates_once_for_many() -> None:
    Path("s.pg").write_text("node Person { name: String @key }")
    assert omnigraph.create("a.omni", Path("s.pg")).schema_text() == Path("s.pg").read_text()
    assert omnigraph.create("d.omni", Path("people.csv"), durability="os").snapshot().counts() == {"node:Person": 6}
    start = threading.Barrier(4)
    graphs: list[omnigraph.Graph] = []

    def open_it() -> None:
        start.wait()
        graphs.append(omnigraph.open("b.omni", create=Path("s.pg")))

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({graph.id for graph in graphs}) == 1
    assert len(graphs) == 4
    # A graph that exists is opened, whatever schema is given.
    assert omnigraph.open("b.omni", create="node Other {}").schema_text() == Path("s.pg").read_text()
    assert omnigraph.open("c.omni", create=["people.csv"]).snapshot().counts() == {"node:Person": 6}


def test_a_load_that_fails_leaves_no_graph_and_touches_nothing_else(work: Path) -> None:
    Path("knows.csv").write_text("src,dst\n1,2\n2,1\n1,99\n")
    place = work / "shared"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    for target in (place, work / "new.omni"):
        with pytest.raises(ViolationError, match=r"knows.csv:4: dst '99' not found in Person"):
            omnigraph.create(target, ["people.csv", "knows.csv"])
    assert [path.name for path in place.iterdir()] == ["notes.txt"]
    assert not (work / "new.omni").exists()
    graph = omnigraph.create(place, "node Person { name: String @key }")
    before = graph.snapshot().commit_id
    with pytest.raises(AlreadyExistsError):
        omnigraph.create(place, ["people.csv"])
    with pytest.raises(OmnigraphError, match=r"Person has no property personId|does not fit"):
        omnigraph.import_data(place, ["people.csv"])
    assert omnigraph.open(place).snapshot().commit_id == before


def test_a_column_of_ids_fits_a_type_without_a_key(work: Path) -> None:
    graph = omnigraph.create("g.omni", "node Person { name: String }\nedge Knows: Person -> Person")
    for expected in (True, False):
        imported = omnigraph.import_data("g.omni", {"Person": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bo"}]})
        assert (imported.load.inserted > 0) is expected
    assert "no key; ids = column id: stated by the source" in imported.schema.types[0].guesses
    omnigraph.import_data("g.omni", {"Knows": [{"src": 1, "dst": 2}]})
    assert graph.edges("Knows").select("src", "dst").to_dicts() == [{"src": "1", "dst": "2"}]


FRAME = pandas.DataFrame({"a": [1]})
WRONG: list[tuple[str, Callable[[], object], str, str]] = [
    ("frame as place", lambda: omnigraph.open(FRAME), "not a DataFrame", "omnigraph.create("),  # type: ignore[arg-type]
    ("number as place", lambda: omnigraph.open(3), "not an int", "omnigraph.open("),  # type: ignore[arg-type]
    (
        "data file as place",
        lambda: omnigraph.open("people.csv"),
        "it is a file",
        "omnigraph.create(graph, ['people.csv'])",
    ),
    ("schema as place", lambda: omnigraph.open("s.pg"), "it is a file", "pathlib.Path('s.pg')"),
    ("nothing there", lambda: omnigraph.open("missing"), "nothing is there", "omnigraph.create("),
    ("swapped", lambda: omnigraph.create("node A {}", "x"), "not the schema 'node A {}'", "the address comes first"),
    (
        "schema file as text",
        lambda: omnigraph.create("x", "s.pg"),
        "'s.pg' is the name of a file",
        "pathlib.Path('s.pg')",
    ),
    (
        "data file as text",
        lambda: omnigraph.create("x", "people.csv"),
        "name of a file",
        "omnigraph.create(place, ['people.csv'])",
    ),
    ("no schema", lambda: omnigraph.create("x", None), "not None", "omnigraph.create("),
    ("bytes", lambda: omnigraph.create("x", b"node A {}"), "not b'node A {}'", "omnigraph.create("),
    ("one frame", lambda: omnigraph.create("x", FRAME), "a DataFrame has no type", '{"Person": frame}'),
    ("records", lambda: omnigraph.create("x", [{"a": 1}]), "records have no type", '{"Person": records}'),
    ("no data", lambda: omnigraph.create("x", []), "no data", "pass files"),
    ("no file", lambda: omnigraph.create("x", ["poeple.csv"]), "'poeple.csv'", "people.csv"),
    ("no schema file", lambda: omnigraph.create("x", Path("t.pg")), "t.pg", ""),
    ("place is a file", lambda: omnigraph.create("people.csv", "node A {}"), "is a file", "choose another place"),
    ("reader", lambda: omnigraph.infer_schema({"P": pa.table({"a": [1]}).to_reader()}), "only once", "read_all()"),
    ("number as name", lambda: omnigraph.infer_schema({1: FRAME}), "not 1", '{"Person": people'),
    ("number as table", lambda: omnigraph.infer_schema({"P": 1}), "has no type", '{"Person": [...]}'),
    (
        "one of two is no table",
        lambda: omnigraph.infer_schema({"P": 1, "Q": FRAME}),
        "P: an int is not a table",
        "a frame",
    ),
    ("object", lambda: omnigraph.infer_schema(object()), "type object", "pass a file"),
    (
        "mixed column",
        lambda: omnigraph.infer_schema({"P": pandas.DataFrame({"a": [1, "x"]})}),
        "column 'a' of P has values of int and str",
        "one type",
    ),
    ("rows are no records", lambda: omnigraph.infer_schema({"P": [1, 2]}), "has no type", '{"Person": [...]}'),
    ("columns", lambda: omnigraph.infer_schema({"id": [1], "name": ["x"]}), "table of columns", '{"Person": [...]}'),
    ("mixed records", lambda: omnigraph.infer_schema({"P": [{"a": 1}, {"a": "x"}]}), "column 'a' of P", "one type"),
    ("no columns", lambda: omnigraph.infer_schema({"P": pandas.DataFrame()}), "P has no columns", "a column for each"),
    (
        "other header",
        lambda: omnigraph.infer_schema({"P": ["people.csv", "bad.csv"]}),
        "bad.csv has no column",
        "a file",
    ),
    ("Neo4j type", lambda: omnigraph.infer_schema("neo.csv"), "'name:strng'", "`string`"),
    ("Neo4j field", lambda: omnigraph.infer_schema("role.csv"), "':STRAT_ID'", "`START_ID`"),
    (
        "short edge",
        lambda: omnigraph.infer_schema("short.el"),
        "short.el:2: 1 value, but the first edge has 2",
        "two ids",
    ),
    ("equal types", lambda: omnigraph.infer_schema({"P": FRAME, "p": FRAME}), "two sources give the type P", "OtherP"),
    ("empty", lambda: omnigraph.infer_schema("empty.csv"), "empty.csv is empty", "names of its columns"),
    ("too many fields", lambda: omnigraph.infer_schema("bad.csv"), "bad.csv:2", "a field for each column"),
    ("equal columns", lambda: omnigraph.infer_schema("twice.csv"), "two columns 'id'", "rename"),
    ("export", lambda: omnigraph.infer_schema("export.jsonl"), "entities with their types", "graph.load("),
    ("schema as data", lambda: omnigraph.infer_schema("s.pg"), "'s.pg' is a schema", "omnigraph.create"),
    ("broken GraphML", lambda: omnigraph.infer_schema("broken.graphml"), "broken.graphml is not GraphML", "complete"),
    ("no GraphML", lambda: omnigraph.infer_schema("missing.graphml"), "'missing.graphml'", ""),
    ("edges with one end", lambda: omnigraph.infer_schema("one.el"), "one.el:1: one value", "two ids"),
    ("edges with a dict", lambda: omnigraph.infer_schema("dict.el"), "attributes in braces", "GraphML"),
    ("no edges", lambda: omnigraph.infer_schema("none.el"), "none.el holds no edges", "two ids"),
]


@pytest.mark.parametrize(("call", "problem", "step"), [pytest.param(*row[1:], id=row[0]) for row in WRONG])
def test_a_wrong_input_gets_a_message_with_the_value_and_the_next_step(
    work: Path, call: Callable[[], object], problem: str, step: str
) -> None:
    texts = {"empty.csv": "", "bad.csv": "id,x\n1,2,3\n", "twice.csv": "id,id\n1,2\n", "s.pg": "node A {}"}
    texts |= {"export.jsonl": '{"type":"P","data":{}}\n', "broken.graphml": "<x", "one.el": "a\n", "none.el": "# no\n"}
    texts |= {"neo.csv": ":ID,name:strng\n1,x\n", "role.csv": ":STRAT_ID,:END_ID\n1,2\n", "short.el": "a b\nc\n"}
    texts |= {"bad.csv": "key,x\n1,2,3\n"}
    for name, text in (texts | {"dict.el": "1 2 {'w': 1}\n"}).items():
        (work / name).write_text(text)
    with pytest.raises(OmnigraphError) as raised:
        call()
    assert problem in raised.value.message
    assert step in (raised.value.hint or "")
    assert not (work / "x").exists()
