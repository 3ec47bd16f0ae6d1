"""Frames, columns and objects of Python libraries load as they are, and what is wrong names its row or its type."""

from __future__ import annotations

import dataclasses
import enum
import io
import itertools
import subprocess
import sys
import tempfile
import uuid
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pydantic
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import InputError, NotFoundError, UsageError, ViolationError

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    born: Date?
    active: Bool?
    kind: enum(a, b)?
}
edge Knows: Person -> Person { since: I32? }
"""
BRANCHES = itertools.count()


@dataclasses.dataclass
class Person:
    name: str
    age: object = None
    born: date | None = None


@dataclasses.dataclass
class Knows:
    source: str
    target: str


class Model(pydantic.BaseModel):
    name: str
    age: int | None = None


class Row(NamedTuple):
    name: str
    age: int


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return create(Path(tmp_path_factory.mktemp("objects")) / "graph", SCHEMA, durability="os")


def loaded(graph: Graph, data: Any, **options: Any) -> list[tuple[str, Any]]:
    """Names with their ages, after a load into a branch of its own."""
    branch = f"b{next(BRANCHES)}"
    graph.create_branch(branch)
    graph.load(data, branch=branch, **options)
    text = "query q() { match { $p: Person } return { $p.name as name, $p.age as age } order { name } }"
    return [(row["name"], row["age"]) for row in graph.query(text, branch=branch).to_pylist()]


def lazy_batches() -> pl.LazyFrame:
    return pl.LazyFrame({"name": ["a", "b"], "age": [1, None]}).filter(pl.col("name") != "c")


PAIRS = [("a", 1), ("b", None)]
FRAMES: dict[str, Any] = {
    "polars lazy frame": lazy_batches,
    "polars lazy frame without rows of a batch": lambda: pl.concat([lazy_batches(), lazy_batches().filter(False)]),
    "polars category": lambda: pl.DataFrame({"name": ["a", "b"], "age": [1, None]}).with_columns(
        pl.lit("a").cast(pl.Categorical).alias("kind")
    ),
    "duckdb relation": lambda: duckdb.connect().sql("select * from (values ('a', 1), ('b', null)) t(name, age)"),
    "pandas floats with gaps": lambda: pd.DataFrame({"name": ["a", "b"], "age": [1, np.nan]}),
    "pandas nullable types": lambda: pd.DataFrame(
        {"name": pd.array(["a", "b"], "string"), "age": pd.array([1, None], "Int64"), "active": [True, None]}
    ),
    "pandas categories and dates": lambda: pd.DataFrame(
        {"name": ["a", "b"], "age": [1, None], "kind": pd.Categorical(["a", None]), "born": [date(2020, 1, 1), None]}
    ),
    "pandas with types of Arrow": lambda: pd.DataFrame({"name": ["a", "b"], "age": [1, None]}).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "pandas objects of several types": lambda: pd.DataFrame(
        {"name": ["a", "b"], "age": pd.Series([1, pd.NA], dtype=object)}
    ),
    "dict of lists": lambda: {"name": ["a", "b"], "age": [1, None]},
    "dict of arrays": lambda: {"name": np.array(["a", "b"]), "age": pa.array([1, None])},
    "structured array": lambda: pd.DataFrame({"name": ["a"], "age": [1]}).to_records(index=False),
    "list of frames": lambda: [pl.DataFrame({"name": ["a"], "age": [1]}), pd.DataFrame({"name": ["b"]})],
    "generator of batches": lambda: (
        pa.record_batch({"name": [name], "age": [age]}) for name, age in (("a", 1), ("b", None))
    ),
    "plain records": lambda: [{"name": "a", "age": 1}, {"name": "b"}],
    "generator of plain records": lambda: (
        {"name": name, "age": age} for name, age in (("a", np.int64(1)), ("b", pd.NA))
    ),
    "named tuples": lambda: [Row("a", 1)],
    "floats of records": lambda: pd.DataFrame({"name": ["a"], "age": [1.0]}).to_dict("records"),
    "dataset of Arrow": lambda: pyarrow.dataset.dataset(pa.table({"name": ["a", "b"], "age": [1, None]})),
    "view of a graph": lambda: _view().select("name", "age"),
    "text stream": lambda: io.StringIO("name,age\na,1\nb,\n"),
    "text file in another encoding": lambda: io.TextIOWrapper(io.BytesIO("name,age\na,1\n".encode("utf-16")), "utf-16"),
}


def _view() -> Any:
    graph = create(tempfile.mkdtemp(), SCHEMA, durability="os")
    graph.load([{"name": "a", "age": 1}, {"name": "b"}], type_name="Person")
    return graph.nodes("Person")


class Kind(enum.Enum):
    A = "a"


@dataclasses.dataclass
class Thing:
    key: uuid.UUID
    kind: Kind
    vector: Any
    tags: Any
    rate: Decimal
    at: Any = None


THING = """node Thing { key: String @key
    kind: enum(a, b)?
    vector: Vector(3)?
    tags: [String]?
    rate: F64?
    at: DateTime? }"""
VECTORS: dict[str, Any] = {
    "numpy": np.array([1, 2, 3], dtype="float32"),
    "list of numpy": [np.float32(1), np.float32(2), np.float32(3)],
    "pandas": pd.Series([1.0, 2.0, 3.0]),
    "polars": pl.Series([1.0, 2.0, 3.0]),
    "Arrow": pa.array([1.0, 2.0, 3.0]),
}


def test_values_of_libraries_are_those_of_python_in_records_and_parameters(tmp_path: Path) -> None:
    graph = create(tmp_path / "graph", THING, durability="os")
    at = np.datetime64("2020-01-31T10:00:00", "ns")
    for number, vector in enumerate(VECTORS.values()):
        thing = Thing(uuid.UUID(int=number), Kind.A, vector, np.array(["x"]), Decimal("0.5"), at)
        graph.load([thing])
        graph.load([{"type": "Thing", "data": {**vars(thing), "key": f"e{number}"}}])
    rows = graph.nodes("Thing").to_dicts()
    assert len(rows) == 2 * len(VECTORS)
    assert {row["id"] for row in rows} >= {str(uuid.UUID(int=0)), "e0"}
    for row in rows:
        assert (row["kind"], row["vector"], row["tags"], row["rate"]) == ("a", [1.0, 2.0, 3.0], ["x"], 0.5)
        assert row["at"].isoformat() == "2020-01-31T10:00:00+00:00"
    text = """query q($v: Vector(3), $kind: String, $tags: [String]) {
        match { $t: Thing { kind: $kind } }
        return { $t.key as key } order { nearest($t.vector, $v) } limit 20 }"""
    for vector in VECTORS.values():
        params = {"v": vector, "kind": Kind.A, "tags": np.array(["x"])}
        assert len(graph.query(text, params)) == len(rows)


@pytest.mark.parametrize("name", FRAMES)
def test_tables_and_records_of_one_type_load_with_its_name(graph: Graph, name: str) -> None:
    data = FRAMES[name]()
    given = {"format": "csv"} if isinstance(data, io.TextIOBase) else {}
    assert loaded(graph, data, type_name="Person", **given) in ([("a", 1), ("b", None)], [("a", 1)])


@pytest.mark.parametrize(
    "data",
    [
        [Person("a", 1), Person("b"), Knows("a", "b")],
        (item for item in [Person("a", 1), Person("b"), Knows("a", "b")]),
        [Person("a", 1), {"type": "Person", "data": {"name": "b"}}],
        [type("Person", (Model,), {})(name="a", age=1), Person("b")],
        {"Person": [Person("a", 1), Person("b")], "Knows": {"from": ["a"], "to": ["b"]}},
        {"Person": (Model(name=name, age=age) for name, age in (("a", 1), ("b", None)))},
    ],
    ids=["classes", "generator", "class and envelope", "model", "by type", "generator by type"],
)
def test_the_class_of_an_object_is_its_type(graph: Graph, data: Any) -> None:
    assert loaded(graph, data) == [("a", 1), ("b", None)]


def test_a_dict_of_types_takes_files_frames_and_objects_together(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "knows.csv").write_text("src,dst\na,b\n")
    people = pl.DataFrame({"name": ["a", "b"], "age": [1, None]}).lazy()
    assert loaded(graph, {"Person": people, "Knows": tmp_path / "knows.csv"}) == [("a", 1), ("b", None)]


def _closed() -> io.BytesIO:
    file = io.BytesIO(b"name\na\n")
    file.close()
    return file


PERSON = {"type_name": "Person"}
WRONG: list[tuple[str, Any, dict[str, Any], type[Exception], str]] = [
    ("a wrong value in a column of objects", pd.DataFrame({"name": ["a", "b"], "age": [1, "old"]}), PERSON,
     ViolationError, r"<Person>:2: wrong value for Person\.age .* got the string 'old'"),
    ("a nested value in a column of objects", pd.DataFrame({"name": ["a", "b"], "age": [1, {"x": 1}]}), PERSON,
     ViolationError, r"<Person>:2: wrong value for Person\.age .* got an object"),
    ("a mixed list", {"name": ["a", "b"], "age": [1, "old"]}, PERSON, ViolationError, r"<Person>:2: wrong value"),
    ("a nested object", [Person("a", Person("b"))], {}, ViolationError, r"<records>:1: wrong value for Person\.age"),
    ("columns of different lengths", {"name": ["a", "b"], "age": [1]}, PERSON, UsageError, r"name: 2, age: 1"),
    ("a class that is no type", [Row("a", 1), Model(name="a")], {}, NotFoundError, "there is no type 'Model'"),
    ("plain records without a type", [{"name": "a"}], {}, ViolationError, 'type_name="Person"'),
    ("a single object", Person("a"), {}, UsageError, r"a single Person .*\n.*graph\.load\(\[Person"),
    ("a single model", Model(name="a"), {}, UsageError, "a single Model"),
    ("a series", pd.Series(["a"]), PERSON, UsageError, "a Series is a single column"),
    ("a polars series", pl.Series(["a"]), PERSON, UsageError, "a Series is a single column"),
    ("a matrix", np.zeros((2, 2)), PERSON, UsageError, "a ndarray is a single column or has no names"),
    ("a number", 5, PERSON, UsageError, r"an int cannot be loaded.*\n.*for example graph\.load"),
    ("nothing", None, PERSON, UsageError, "a NoneType cannot be loaded"),
    ("a class", Person, PERSON, UsageError, "a type cannot be loaded"),
    ("bytes", b"x", PERSON, UsageError, "a bytes cannot be loaded"),
    ("a closed file", _closed(), PERSON, UsageError, "is closed"),
    ("a lazy frame that fails", pl.LazyFrame({"name": ["a"]}).select("nmae"), PERSON, InputError, "nmae"),
    ("a relation that fails", duckdb.connect().sql("select error('broken') as name"), PERSON, InputError, "broken"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "options", "error", "message"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_wrong_objects_name_their_row_or_their_type(
    graph: Graph, data: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    for run in (graph.load, graph.load_preview):
        with pytest.raises(error, match=message):
            run(data, **options)


def test_no_library_is_imported_to_recognise_its_objects(tmp_path: Path) -> None:
    program = (
        "import sys, omnigraph\n"
        f"graph = omnigraph.create({str(tmp_path / 'g')!r}, 'node Person {{ name: String @key }}')\n"
        "graph.load([{'name': 'a'}], type_name='Person')\n"
        "graph.load({'name': ['b']}, type_name='Person')\n"
        # Arrow imports pandas by itself, to look for its arrays.
        "print([name for name in ('polars', 'pydantic', 'networkx') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr
