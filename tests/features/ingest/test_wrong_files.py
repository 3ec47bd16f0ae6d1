"""Wrong input as a new user gives it: each message names the value, the expectation and the next step."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import OmnigraphError
from tests.features.cli.run import run

SCHEMA = """
node Person {
  name: String
  age: I32?
}
edge Knows: Person -> Person {
  since: Date?
}
"""
GOOD = "id,name,age\n1,Ada,36\n"

Case = tuple[str, list[str], tuple[str, ...]]
CASES: list[Case] = [
    ("nope.csv", [], ("no file 'nope.csv'", "the data files in '.' are")),
    ("missing/x.csv", [], ("no file", "there is no directory 'missing'")),
    ("x*.csv", [], ("no file matches 'x*.csv'", "the data files in '.' are")),
    ("empty", [], ("directory 'empty' holds no data files", ".csv, ")),
    ("people.csv", ["--type", "Persn"], ("no type 'Persn'", "`Person`")),
    ("people.csv", ["--type", "person"], ("no type 'person'", "`Person`")),
    ("twice.csv", ["--no-type"], ("twice.csv does not name the type", "--type", "Person, Knows")),
    ("schema.pg", [], ("'schema.pg' is a schema, not data", "omnigraph init")),
    ("find.gq", [], ("'find.gq' is a query, not data", "omnigraph query")),
    ("g.omni", [], ("is a graph, not data", "omnigraph export")),
    ("empty.csv", [], ("empty.csv is empty", "names of its columns")),
    ("twice.csv", [], ("two columns give Person.name", "'name' and 'name'", "rename one of them")),
    ("binary.csv", [], ("binary.csv is not text", "parquet")),
    ("utf16.csv", [], ("is UTF-16", "iconv")),
    ("latin1.csv", [], ("latin1.csv:3: byte 0xe9 is not UTF-8", "iconv")),
    ("cut.csv.gz", [], ("cut.csv.gz: truncated", "complete")),
    ("plain.csv.gz", [], ("plain.csv.gz is not a gzip file", "rename")),
    ("cut.parquet", [], ("cut.parquet: it is not a complete Parquet file", "complete")),
    ("text.parquet", [], ("not a complete Parquet file", "complete")),
    ("text.arrow", [], ("not a complete Arrow file", "complete")),
    ("noname.csv", [], ("noname.csv:1: missing required column name", "the columns are id, age", "--map name=")),
    ("case.csv", [], ("case.csv:1: unknown property 'Name' of Person; did you mean name?", "--map name=Name")),
    ("caps.csv", [], ("unknown property 'ID'", "--map id=ID,name=NAME", "--ignore ID,NAME,notes")),
    ("spaced.csv", [], ("unknown property 'N a m e'", "--map 'name=N a m e'")),
    ("index.csv", [], ("unknown property 'column1'", "--map PROPERTY=column1", "--ignore column1")),
    ("values.csv", [], ("unknown property 'Ada'", "the first line holds the names of the columns", "id,age,name")),
    ("knows.csv", [], ("unknown property 'src' of Person", "those of Knows", "--type Knows")),
    ("short.csv", [], ("short.csv:3: 2 fields, but the header names 3", "a record has a field for each column")),
    ("long.csv", [], ("long.csv:2: 4 fields, but the header names 3",)),
    ("quote.csv", [], ("quote.csv:3: the quote at column 3", "closed")),
    ("value.csv", [], ("value.csv:4: wrong value for Person.age (I32?)", "'x'")),
    ("broken.json", [], ("record 2: invalid JSON", "an array of objects")),
    ("texts.csv", [], ("'yes' is not an integer from -2147483648", "'NA' is not an integer", "null is an empty field")),
    ("open.json", [], ("record 1", "the file ends")),
    ("scalars.json", [], ("scalars.json:2: expected an object, got the number 7",)),
    ("broken.jsonl", [], ("broken.jsonl:2: invalid JSON", "every line is an object")),
    ("mixed.jsonl", [], ("mixed.jsonl:2: wrong value for Person.age", "36")),
    ("people.txt", [], ("the format of people.txt is not known", "--format", "csv, tsv")),
    ("people.csv", ["--map", "nam=name"], ("map: no type has a property 'nam'", "`name`")),
    ("people.csv", ["--map", "name=nmae"], ("map: there is no column 'nmae'", "`name`", "id, name, age")),
    ("people.csv", ["--map", "name=id"], ("two columns give Person.name", "'id' and 'name'", "--ignore name")),
    ("people.csv", ["--map", "zzz=age"], ("no type has a property 'zzz'", "--map age=zzz")),
    ("people.csv", ["--ignore", "agee"], ("ignore: there is no column 'agee'", "`age`")),
    ("people.csv", ["--constant", "age=1"], ("both the column 'age' and a constant", "--ignore age")),
    ("people.csv", ["--ignore", "age", "--constant", "age=x"], ("constant: 'x' is no value of Person.age (I32?)",)),
    ("knows.csv", ["--type", "Knows"], ("knows.csv:2: ", "dst '9' not found in Person")),
    ("ends.csv", ["--type", "Knows"], ("ends.csv:1: missing required column dst",)),
    ("Person=people.csv", [], ("either --type or --data TYPE=FILE",)),
]  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    place = tmp_path_factory.mktemp("wrong")
    made = create(place / "g.omni", SCHEMA)
    made.load([{"id": 1, "name": "Ada"}], type_name="Person")
    (place / "empty").mkdir()
    pyarrow.parquet.write_table(pa.table({"id": [1], "name": ["a"]}), place / "whole.parquet")
    whole = (place / "whole.parquet").read_bytes()
    (place / "whole.parquet").unlink()
    files: dict[str, str | bytes] = {
        "people.csv": GOOD,
        "people.txt": GOOD,
        "schema.pg": SCHEMA,
        "find.gq": "query q() { match { $p: Person } return { $p } }",
        "empty.csv": "",
        "twice.csv": "id,name,name\n1,a,b\n",
        "binary.csv": whole,
        "utf16.csv": GOOD.encode("utf-16"),
        "latin1.csv": "id,name\n1,a\n2,Jos\u00e9\n".encode("latin-1"),
        "cut.csv.gz": gzip.compress(GOOD.encode() * 100)[:-12],
        "plain.csv.gz": GOOD,
        "cut.parquet": whole[:-9],
        "text.parquet": GOOD,
        "text.arrow": GOOD,
        "noname.csv": "id,age\nzz,1\n",
        "case.csv": "id,Name\n1,a\n",
        "index.csv": ",name\n0,a\n",
        "caps.csv": "ID,NAME,notes\n1,a,b\n",
        "spaced.csv": "id,N a m e\n1,a\n",
        "values.csv": "1,Ada,36\n2,Alan,41\n",
        "texts.csv": "id,name,age\n1,a,yes\n2,b,NA\n",
        "short.csv": GOOD + "2,b\n",
        "long.csv": "id,name,age\n1,a,2,3\n",
        "quote.csv": GOOD + '2,"b"c,3\n',
        "value.csv": GOOD + "\n2,b,x\n",
        "broken.json": '[{"name": "a"}, {"name": }]',
        "open.json": '[{"name": "a"}',
        "scalars.json": '[{"name": "a"}, 7]',
        "broken.jsonl": '{"name": "a"}\n{"name": \n',
        "mixed.jsonl": '{"name": "a", "age": 36}\n{"name": "b", "age": "36"}\n',
        "knows.csv": "src,dst\n1,9\n",
        "ends.csv": "src\n1\n",
    }
    for name, content in files.items():
        (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return made


@pytest.mark.parametrize(
    ("path", "options", "expected"), CASES, ids=[f"{case[0]} {' '.join(case[1])}" for case in CASES]
)
def test_the_message_names_the_value_and_the_next_step(
    path: str, options: list[str], expected: tuple[str, ...], graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(graph.uri).parent)
    given = [] if "--no-type" in options else options if "--type" in options else ["--type", "Person", *options]
    words = ["load", "g.omni", "--data", path, *given]
    shown = run(*words, "--mode", "append", "--dry-run")
    assert (shown.exit_code != 0, shown.stdout) == (True, ""), shown.output
    missing = [part for part in expected if part not in shown.stderr]
    assert not missing, shown.stderr
    if not path.startswith("Person="):
        error = json.loads(run(*words, "--mode", "append", "--json").stdout)
        assert error["code"] != "internal", error


PYTHON: list[tuple[Any, dict[str, Any], str]] = [
    ({"name": ["a", 5]}, {"type_name": "Person"}, "<Person>:2: wrong value for Person.name .String.: .* number 5"),
    ({"name": ["a"], "age": [1, 2]}, {"type_name": "Person"}, "different lengths .name: 1, age: 2."),
    (pa.table({"name": [{"a": 1}]}), {"type_name": "Person"}, "<Person>:1: .* expected a column of text, got struct"),
    (pa.table({"name": [None, ["a"]]}), {"type_name": "Person"}, "<Person>:2: .* got list"),
    (pa.table({"from": [1.5], "to": ["1"]}), {"type_name": "Knows"}, "<Knows>:1: src: the number 1.5 is not a whole"),
    (pa.table({"from": [True], "to": ["1"]}), {"type_name": "Knows"}, "<Knows>:1: src: expected a column of ids"),
    (pa.table({"name": ["a"]}), {}, "a table does not name the type"),
    ([{"nmae": "a"}], {"type_name": "Person"}, "<records>:1: unknown property 'nmae' of Person; did you mean name"),
    ([7], {"type_name": "Person"}, "<records>:1: expected an object, got the number 7"),
    ({"name": "a"}, {}, "there is no type 'name'.*a single record needs its type"),
    ({"nmae": "a"}, {"type_name": "Person"}, "<records>:1: unknown property 'nmae' of Person; did you mean name"),
    ({"type": "Persn", "data": {}}, {}, "<records>:1: .*Persn"),
    ({"name": ["a"], "age": [1]}, {}, "a table of the columns name, age does not name the type"),
    ({"Persn": ["people.csv"]}, {}, "there is no type 'Persn'.*`Person`"),
    ([("a", 1)], {"type_name": "Person"}, "<records>:1: expected an object, got an array of 2.*a record is a dict"),
    ([{"from": "1"}], {"type_name": "Knows"}, "<records>:1: missing .to.*give every edge both of its ends"),
    ([{"name": "a", "age": float("nan")}], {"type_name": "Person"}, "expected an integer, got NaN; a missing value is"),
    (GOOD, {"type_name": "Person"}, "not its content: 'id,name,age.*io.StringIO"),
    ('[{"name": "a"}]', {"type_name": "Person"}, "not its content"),
    (duckdb.connect(), {"type_name": "Person"}, "a DuckDBPyConnection cannot be loaded.*connection.sql"),
    (GOOD.encode(), {"type_name": "Person"}, "a bytes cannot be loaded"),
    (42, {}, "an int cannot be loaded"),
    ("people.csv", {"type_name": "Person", "format": "cvs"}, "unknown format 'cvs' .expected csv, .*`csv`"),
    ("people.csv", {"type_name": "Person", "map": "name=x"}, "map must be a dict"),
    ("people.csv", {"type_name": "Person", "map": {"Persn.name": "x"}}, "map: there is no type 'Persn'"),
    ("people.csv", {"type_name": "Person", "map": {"Person.nam": "x"}}, "map: Person has no property 'nam'"),
]


@pytest.mark.parametrize(("data", "options", "message"), PYTHON)
def test_wrong_data_in_python_is_an_error_of_ours(
    data: Any, options: dict[str, Any], message: str, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(graph.uri).parent)
    with pytest.raises(OmnigraphError, match=f"(?s){message}"):
        graph.load_preview(data, "append", **options)
