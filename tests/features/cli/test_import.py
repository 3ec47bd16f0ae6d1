"""`omnigraph schema infer` and `omnigraph import`."""

import json
from pathlib import Path

import pytest

from tests.features.cli.run import run
from tests.features.infer.files import SCHEMA, write_files


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("work")
def test_infer_prints_a_schema_that_lints_and_whose_files_load_without_inference() -> None:
    result = run("schema", "infer", "people.csv", "knows.csv")
    assert (result.exit_code, result.stdout) == (0, SCHEMA)
    assert run("schema", "infer", "people.csv", "Knows=knows.csv", "--out", "s.pg").stdout == "ok: 2 types in s.pg\n"
    assert Path("s.pg").read_text() == SCHEMA
    assert run("lint", "--schema", "s.pg").exit_code == 0
    assert run("init", "g.omni", "--schema", "s.pg").exit_code == 0
    loaded = run("load", "g.omni", "--data", "Person=people.csv", "--map", "fullName=Full Name", "--mode", "append")
    assert "Person: 6" in loaded.stdout
    assert run("load", "g.omni", "--data", "Knows=knows.csv", "--mode", "append").exit_code == 0
    form = json.loads(run("schema", "infer", "people.csv", "--json").stdout)
    assert form["schema_source"].startswith("// Inferred")
    assert form["types"][0]["columns"]["fullName"] == "Full Name"


@pytest.mark.usefixtures("work")
def test_import_creates_loads_and_says_what_it_guessed_and_a_second_one_changes_nothing() -> None:
    dry = run("import", "people.csv", "knows.csv", "--into", "g.omni", "--dry-run")
    assert dry.stdout.startswith(SCHEMA)
    assert "would create a graph at g.omni" in dry.stdout
    assert not Path("g.omni").exists()
    result = run("import", "people.csv", "knows.csv", "--into", "g.omni", "--schema-out", "s.pg")
    assert result.exit_code == 0, result.stderr
    assert "key = personId (column id): integers from 1 to 6; unique and never null in 6 rows" in result.stdout
    assert "from = column src: every value is a key of Person" in result.stdout
    assert "ok: imported 8 entities into a new graph" in result.stdout
    assert Path("s.pg").read_text() == SCHEMA
    again = run("import", "knows.csv", "--into", "g.omni", "--dry-run", "--json")
    form = json.loads(again.stdout)
    assert (form["would_create"], form["inferred"]["types"][0]["name"]) == (False, "Knows")
    assert sum(table["inserted"] + table["updated"] for table in form["tables"]) == 0
    form = json.loads(run("import", "people.csv", "knows.csv", "--into", "g.omni", "--json").stdout)
    assert (form["created"], form["total_entities"]) == (False, 8)


@pytest.mark.usefixtures("work")
def test_import_into_a_graph_that_does_not_fit_names_the_differences() -> None:
    Path("s.pg").write_text("node Person { personId: I64 @key  email: String }\nnode Group { name: String @key }\n")
    assert run("init", "g.omni", "--schema", "s.pg").exit_code == 0
    result = run("import", "people.csv", "knows.csv", "--into", "g.omni")
    assert result.exit_code == 2
    assert "Person has no property fullName (column 'Full Name' of people.csv)" in result.stderr
    assert "Person.email is required in the graph, and people.csv has no column for it" in result.stderr
    assert "the graph has no edge type Knows (from knows.csv)" in result.stderr


@pytest.mark.usefixtures("work")
def test_a_failed_import_leaves_no_graph_and_reports_file_and_line() -> None:
    Path("knows.csv").write_text("src,dst\n1,2\n2,1\n1,99\n")
    result = run("import", "people.csv", "knows.csv", "--into", "g.omni", "--json")
    assert result.exit_code == 1
    assert "knows.csv:4: dst '99' not found in Person" in result.stdout
    assert not Path("g.omni").exists()


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "--into", "g.omni"], "missing argument"),
        (["import", "people.csv"], "no graph is given"),
        (["import", "-", "--into", "g.omni"], "standard input can be read only once"),
        (["import", "poeple.csv", "--into", "g.omni"], "'poeple.csv'"),
        (["schema", "infer", "Person=nothing.csv"], "nothing.csv"),
        (["schema", "infer", "people.csv", "--out", "no/dir/s.pg"], "cannot write no/dir/s.pg"),
        (["import", "people.csv", "--into", "people.csv"], "people.csv is a file"),
    ],
)
def test_wrong_arguments_are_explained(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert message in result.stderr.lower() or message in result.stderr
