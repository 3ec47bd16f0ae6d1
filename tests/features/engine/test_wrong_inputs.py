"""Wrong inputs as a new user would try them in Python: each gets an error of ours, with the value and the next step."""

import datetime
import enum
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

import omnigraph
from omnigraph.errors import CompileError
from tests.support.messages import judge

SCHEMA = """node Person { name: String @key
  age: I32?
  born: Date?
  role: enum(dev, ops)?
  vec: Vector(3)?
  photo: Blob?
  @range(age, 0..150) }
node City { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge Lives: Person -> City @card(0..1)
"""
ALL = "query q() { match { $p: Person } return { $p.name } }"
ONE = "query q($name: String, $age: I32?) { match { $p: Person { name: $name } } return { $p.name } }"
ADD = "query add($name: String) { insert Person {name: $name} }"

G = omnigraph.Graph
Case = tuple[str, Callable[[G, Path], object], str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wrong")
    graph = omnigraph.create(place / "graph", SCHEMA, durability="os")
    people = [{"type": "Person", "data": {"name": name, "age": 3}} for name in ("Ann", "Bo")]
    knows = {"edge": "Knows", "from": "Ann", "to": "Bo", "data": {"id": "k1"}}
    graph.load([*people, {"type": "City", "data": {"name": "Oslo"}}, knows])
    graph.create_branch("review")
    (place / "empty").mkdir()
    (place / "note.txt").write_text("hello")
    (place / "schema.pg").write_text(SCHEMA)
    return place


@pytest.fixture
def graph(place: Path) -> Iterator[G]:
    graph = omnigraph.open(place / "graph", durability="os")
    head = graph.commit("HEAD").id
    yield graph
    assert graph.commit("HEAD").id == head, "a refused call changes nothing"


class _Colour(enum.Enum):
    RED = "red"


def _closed(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        return file


def _statement(text: str) -> str:
    return f"query q() {{ {text} }}"


def _person(**data: object) -> list[dict[str, object]]:
    return [{"type": "Person", "data": data}]


OPEN: list[Case] = [
    ("nothing there", lambda g, at: omnigraph.open(at / "nowhere"), "nowhere"),
    ("misspelled path", lambda g, at: omnigraph.open(at / "grahp"), "grahp"),
    ("file as graph", lambda g, at: omnigraph.open(at / "note.txt"), "note.txt"),
    ("directory as graph", lambda g, at: omnigraph.open(at / "empty"), "empty"),
    ("no path", lambda g, at: omnigraph.open(None), "None"),  # type: ignore[arg-type]
    ("empty path", lambda g, at: omnigraph.open(""), "address"),
    ("graph as path", lambda g, at: omnigraph.open(g), "Graph"),  # type: ignore[arg-type]
    ("unknown scheme", lambda g, at: omnigraph.open("ftp://host/g"), "ftp://"),
    ("server as store", lambda g, at: omnigraph.open("http://host/g"), "http://host/g"),
    ("text as options", lambda g, at: omnigraph.open(at / "graph", storage_options="region=x"), "region=x"),  # type: ignore[arg-type]
    ("unknown durability", lambda g, at: omnigraph.open(at / "graph", durability="never"), "'never'"),
    ("unknown option", lambda g, at: omnigraph.open(at / "graph", tunning=None), "'tunning'"),  # type: ignore[call-arg]
    ("existing graph", lambda g, at: omnigraph.create(at / "graph", SCHEMA), "graph"),
    ("no schema", lambda g, at: omnigraph.create(at / "new", None), "None"),
    ("schema by name", lambda g, at: omnigraph.create(at / "new", str(at / "schema.pg")), "schema.pg"),
    ("SQL as schema", lambda g, at: omnigraph.create(at / "new", "CREATE TABLE p (x int)"), "CREATE"),
    ("unknown scalar", lambda g, at: omnigraph.create(at / "new", "node A { x: Integer }"), "Integer"),
    ("lower-case scalar", lambda g, at: omnigraph.create(at / "new", "node A { x: string }"), "string"),
    ("misspelled annotation", lambda g, at: omnigraph.create(at / "new", "node A { x: String @kye }"), "@kye"),
    ("commas", lambda g, at: omnigraph.create(at / "new", "node A { x: String, y: I32 }"), "`,`"),
    ("unknown end", lambda g, at: omnigraph.create(at / "new", "node A { x: I32 } edge E: A -> B"), "B"),
    ("graph in a file", lambda g, at: omnigraph.create(at / "note.txt" / "g", SCHEMA), "note.txt"),
    ("nothing to repair", lambda g, at: omnigraph.repair(at / "nowhere"), "nowhere"),
]

READ: list[Case] = [
    ("SQL as query", lambda g, at: g.query("SELECT * FROM Person"), "SELECT"),
    ("Cypher as query", lambda g, at: g.query("MATCH (p:Person) RETURN p"), "MATCH"),
    ("no query", lambda g, at: g.query(""), "0 queries"),
    ("None as query", lambda g, at: g.query(None), "None"),  # type: ignore[call-overload]
    ("path as query", lambda g, at: g.query(at / "q.gq"), "q.gq"),  # type: ignore[call-overload]
    ("unknown type", lambda g, at: g.query(ALL.replace("Person", "Persn")), "Persn"),
    ("unknown property", lambda g, at: g.query(ALL.replace(".name", ".nam")), "nam"),
    ("unknown edge", lambda g, at: g.query(_statement("match { $p: Person $p konws $q } return { $q.name }")), "konws"),
    ("missing parameter", lambda g, at: g.query(ONE), "'name'"),
    ("misspelled parameter", lambda g, at: g.query(ONE, {"nam": "Ann"}), "'nam'"),
    ("parameter with dollar", lambda g, at: g.query(ONE, {"$name": "Ann"}), "'$name'"),
    ("list of parameters", lambda g, at: g.query(ONE, ["Ann"]), "['Ann']"),  # type: ignore[call-overload]
    ("number for a text", lambda g, at: g.query(ONE, {"name": 5}), "5"),
    ("text for a number", lambda g, at: g.query(ONE, {"name": "Ann", "age": "old"}), "'old'"),
    ("number out of range", lambda g, at: g.query(ONE, {"name": "Ann", "age": 2**40}), str(2**40)),
    ("unknown query", lambda g, at: g.query(ALL, name="all"), "`all`"),
    ("two queries", lambda g, at: g.query(f"{ALL} {ALL.replace('q()', 'r()')}"), "q, r"),
    ("unknown branch", lambda g, at: g.query(ALL, branch="mian"), "'mian'"),
    ("unknown moment", lambda g, at: g.query(ALL, at="someday"), "'someday'"),
    ("number as moment", lambda g, at: g.query(ALL, at=3), "3"),  # type: ignore[call-overload]
    ("unknown engine", lambda g, at: g.query(ALL, engine="sparck"), "sparck"),  # type: ignore[call-overload]
    ("text as timeout", lambda g, at: g.query(ALL, timeout="1s"), "'1s'"),  # type: ignore[call-overload]
    ("text as memory", lambda g, at: g.query(ALL, memory_limit="1GB"), "'1GB'"),  # type: ignore[call-overload]
    ("write as query", lambda g, at: g.query(ADD, {"name": "x"}), "add"),
    ("unknown argument", lambda g, at: g.query(ALL, brnch="main"), "'brnch'"),  # type: ignore[call-overload]
    ("no plan", lambda g, at: g.explain("nope"), "nope"),
    ("wrong SQL", lambda g, at: g.sql("selct 1"), "selct"),
    ("unknown table", lambda g, at: g.sql("select * from Persn"), "Persn"),
    ("unknown column", lambda g, at: g.sql("select nam from Person"), "nam"),
    ("SQL that writes", lambda g, at: g.sql("insert into Person values (1)"), "insert"),
    ("two statements", lambda g, at: g.sql("select 1; select 2"), "2"),
    ("SQL without its value", lambda g, at: g.sql("select * from Person where name = $n", {"m": 1}), "n"),
    ("unknown export type", lambda g, at: list(g.export(types=["Persn"])), "'Persn'"),
    ("text as types", lambda g, at: list(g.export(types="Person")), "'Person'"),  # type: ignore[arg-type]
    ("unknown kind of blob", lambda g, at: g.read_blob("nod", "Person", "Ann", "photo"), "'nod'"),
    ("no such entity", lambda g, at: g.read_blob("node", "Person", "Nobody", "photo"), "'Nobody'"),
    ("not a blob", lambda g, at: g.read_blob("node", "Person", "Ann", "name"), "name"),
    ("null blob", lambda g, at: g.read_blob("node", "Person", "Ann", "photo"), "'Ann'"),
    ("file as read", lambda g, at: g.query("q.gq"), "'q.gq'"),
    ("number as type", lambda g, at: g.to_networkx(3), "3"),  # type: ignore[arg-type]
    ("text as rows", lambda g, at: g.nodes("Person").limit("x"), "'x'"),  # type: ignore[arg-type]
    ("names as range", lambda g, at: g.nodes("Person")["name":], "'name'"),  # type: ignore[misc]
    ("unknown caption", lambda g, at: g.draw(caption="nam"), "'nam'"),
    ("no height", lambda g, at: g.draw(height=-1), "-1"),
    ("file in no directory", lambda g, at: g.nodes("Person").to_csv(at / "nowhere" / "x.csv"), "nowhere"),
    ("picture in no directory", lambda g, at: g.draw().save(at / "nowhere" / "x.html"), "nowhere"),
    ("unknown algorithm", lambda g, at: g.analyze.run("pagernk"), "'pagernk'"),
    ("unknown edge type", lambda g, at: g.analyze.degrees("Konws"), "Konws"),
]

WRITE: list[Case] = [
    ("read as write", lambda g, at: g.mutate(ALL), "q"),
    ("insert of an unknown type", lambda g, at: g.mutate(_statement('insert Persn {name: "x"}')), "Persn"),
    ("insert of an unknown property", lambda g, at: g.mutate(_statement('insert Person {nam: "x"}')), "nam"),
    ("no key", lambda g, at: g.mutate(_statement("insert Person {age: 3}")), "name"),
    ("out of range", lambda g, at: g.mutate(_statement('insert Person {name: "x", age: 200}')), "200"),
    ("no enum value", lambda g, at: g.mutate(_statement('insert Person {name: "x", role: "boss"}')), "boss"),
    ("dangling edge", lambda g, at: g.mutate(_statement('insert Knows {from: "Ann", to: "Cy"}')), "'Cy'"),
    ("head moved on", lambda g, at: g.mutate(ADD, {"name": "x"}, if_commit="01ABC"), "01ABC"),
    ("write to no branch", lambda g, at: g.mutate(ADD, {"name": "x"}, branch="nope"), "'nope'"),
    ("text as provenance", lambda g, at: g.mutate(ADD, {"name": "x"}, provenance="run"), "'run'"),  # type: ignore[arg-type]
    ("number in provenance", lambda g, at: g.mutate(ADD, {"name": "x"}, provenance={"run": 3}), "'run': 3"),  # type: ignore[dict-item]
    ("number as actor", lambda g, at: g.mutate(ADD, {"name": "x"}, actor=3), "3"),  # type: ignore[arg-type]
    ("unknown engine of a load", lambda g, at: g.load([], engine="sparck"), "sparck"),
    ("option of Spark", lambda g, at: g.load([], partitions=3), "partitions"),
    ("closed file", lambda g, at: g.load(_closed(at / "note.txt")), "note.txt"),
    ("file as query", lambda g, at: g.mutate("add.gq"), "'add.gq'"),
    ("schema by its name", lambda g, at: g.apply_schema("schema.pg"), "'schema.pg'"),
    ("content as file", lambda g, at: g.load("name\nAda\n", type_name="Person"), "'name\\nAda\\n'"),
    ("columns without a type", lambda g, at: g.load({"name": ["Ada"], "age": [3]}), "name, age"),
    ("another type's columns", lambda g, at: g.load([{"src": "Ann", "dst": "Bo"}], type_name="Person"), "'src'"),
    ("a value of a wrong enum", lambda g, at: g.load(_person(name="x", role=_Colour.RED)), "'red'"),
    ("an array of another length", lambda g, at: g.load(_person(name="x", vec=np.ones(2))), "got 2"),
    ("a node of an overwrite", lambda g, at: g.load(_person(name="Ann"), "overwrite"), "'k1'"),
    ("nothing to load", lambda g, at: g.load(None), "None"),
    ("number to load", lambda g, at: g.load(5), "5"),
    ("no such file", lambda g, at: g.load(at / "nope.jsonl"), "nope.jsonl"),
    ("unknown mode", lambda g, at: g.load([], mode="upsrt"), "'upsrt'"),
    ("unknown option of a load", lambda g, at: g.load([], mod="merge"), "'mod'"),  # type: ignore[call-arg]
    ("record of an unknown type", lambda g, at: g.load([{"type": "Persn", "data": {"name": "x"}}]), "'Persn'"),
    ("record with an unknown property", lambda g, at: g.load(_person(nam="x")), "'nam'"),
    ("text for an integer", lambda g, at: g.load(_person(name="x", age="old")), "'old'"),
    ("short vector", lambda g, at: g.load(_person(name="x", vec=[1.0])), "vec"),
    ("impossible date", lambda g, at: g.load(_person(name="x", born="2020-02-31")), "2020-02-31"),
    ("record without a type", lambda g, at: g.load([{"name": "x"}]), "type"),
    ("type of nothing", lambda g, at: g.load([{"name": "x"}], type_name="Persn"), "'Persn'"),
    ("edge to nobody", lambda g, at: g.load([{"edge": "Knows", "from": "Ann", "to": "Cy", "data": {}}]), "'Cy'"),
    ("load to no branch", lambda g, at: g.load([], branch="nope"), "'nope'"),
    ("fork of no branch", lambda g, at: g.load([], branch="x", base="nope"), "'nope'"),
    ("schema file that is not there", lambda g, at: g.apply_schema(at / "nope.pg"), "nope.pg"),
    ("no new schema", lambda g, at: g.apply_schema(None), "None"),  # type: ignore[arg-type]
    ("misspelled annotation of a change", lambda g, at: g.apply_schema(SCHEMA.replace("@key", "@kye")), "@kye"),
    ("changed key", lambda g, at: g.apply_schema(SCHEMA.replace("name: String @key", "name: String", 1)), "@key(name)"),
    ("schema of no branch", lambda g, at: g.apply_schema(SCHEMA, branch="nope"), "'nope'"),
    ("zero attempts", lambda g, at: g.retry(lambda graph: 1, attempts=0), "0"),
    ("no work", lambda g, at: g.retry(3), "3"),  # type: ignore[arg-type]
    ("optimize no type", lambda g, at: g.optimize(types=["Persn"]), "Persn"),
    ("negative keep", lambda g, at: g.cleanup(keep=-1), "-1"),
    ("text as keep", lambda g, at: g.cleanup(keep="all"), "'all'"),  # type: ignore[arg-type]
    ("unknown duration", lambda g, at: g.cleanup(older_than="week"), "'week'"),
]

HISTORY: list[Case] = [
    ("existing branch", lambda g, at: g.create_branch("review"), "'review'"),
    ("name with a space", lambda g, at: g.create_branch("my branch"), "'my branch'"),
    ("no name", lambda g, at: g.create_branch(None), "None"),  # type: ignore[arg-type]
    ("unknown parent", lambda g, at: g.create_branch("x", "mian"), "'mian'"),
    ("unknown start", lambda g, at: g.create_branch("x", at="nope"), "'nope'"),
    ("deletion of nothing", lambda g, at: g.delete_branch("revew"), "'revew'"),
    ("deletion of main", lambda g, at: g.delete_branch("main"), "main"),
    ("rename of main", lambda g, at: g.rename_branch("main", "x"), "main"),
    ("rename to a taken name", lambda g, at: g.rename_branch("review", "main"), "main"),
    ("merge of nothing", lambda g, at: g.merge("revew"), "'revew'"),
    ("merge into itself", lambda g, at: g.merge("main"), "'main'"),
    ("unknown policy", lambda g, at: g.merge("review", policy="mine"), "mine"),
    ("policy of an unknown type", lambda g, at: g.merge("review", policy={"Persn.age": "source"}), "Persn"),
    ("misspelled resolution", lambda g, at: g.merge("review", resolutions=[{"tpye": "P", "take": "source"}]), "tpye"),
    ("unknown side", lambda g, at: g.merge("review", resolutions=[{"take": "sorce"}]), "sorce"),
    ("text as resolutions", lambda g, at: g.merge("review", resolutions="source"), "'source'"),
    ("diff of nothing", lambda g, at: g.diff("nope"), "'nope'"),
    ("unknown kind", lambda g, at: g.diff("main~1", kind="nodes"), "nodes"),
    ("diff of an unknown type", lambda g, at: g.diff("main~1", type="Persn"), "Persn"),
    ("unknown change", lambda g, at: g.diff("main~1", op="added"), "added"),
    ("unknown commit", lambda g, at: g.commit("nope"), "'nope'"),
    ("too far back", lambda g, at: g.commit("main~99"), "'main~99'"),
    ("text as limit", lambda g, at: list(g.commits(limit="ten")), "'ten'"),  # type: ignore[arg-type]
    ("no cursor", lambda g, at: g.changes("garbage"), "not a cursor"),
    ("empty page", lambda g, at: g.changes("beginning", limit=0), "0"),
    ("nothing to revert", lambda g, at: g.revert(), "reverted"),
    ("revert of nothing", lambda g, at: g.revert("nope"), "'nope'"),
    ("unknown time", lambda g, at: g.revert(since="someday"), "'someday'"),
    ("future branch", lambda g, at: g.snapshot("x", at=datetime.datetime(2001, 1, 1)), "'x'"),
    ("before the graph", lambda g, at: g.snapshot(at=datetime.datetime(2001, 1, 1)), "2001-01-01"),
]

CASES = [*OPEN, *READ, *WRITE, *HISTORY]


@pytest.mark.parametrize(("attempt", "value"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_wrong_input_gets_its_value_and_the_next_step(
    graph: G, place: Path, attempt: Callable[[G, Path], Any], value: str
) -> None:
    with pytest.raises(Exception) as refused:  # noqa: PT011 - the type is what is judged
        attempt(graph, place)
    judge(refused.value, value)
    shutil.rmtree(place / "new", ignore_errors=True)


def test_a_schema_of_an_earlier_version_may_keep_its_unknown_annotations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = "node A { name: String @key @pii }\n"
    with monkeypatch.context() as earlier:
        earlier.setattr("omnigraph.schema.annotations.OWN", "")
        omnigraph.create(tmp_path / "g", old, durability="os")
    graph = omnigraph.open(tmp_path / "g")
    assert graph.schema_text() == old
    assert graph.apply_schema(old.replace("}", "age: I32? @pii }")).commit is not None
    with pytest.raises(CompileError, match="unknown annotation @pi "):
        graph.apply_schema(old.replace("}", "age: I32? @pi }"))
