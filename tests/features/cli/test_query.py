"""`omnigraph query`: every format, every way to name a moment, and what goes wrong."""

import io
import json
import os
import pty
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.cli.show.read_formats import table_lines
from omnigraph.core.temporal import format_datetime
from omnigraph.embed import MockEmbedder
from tests.features.cli.run import PROGRAM, run

SCHEMA = """
node Person { name: String @key
    age: I64?
    score: F64?
    born: Date?
    tags: [String]?
    note: String?
    vec: Vector(2)? @embed(note) }
"""
ALL = "query people() { match { $p: Person } return { $p.name, $p.age, $p.note } order { $p.name asc } }"
QUERIES = ALL + "\nquery one($n: String) { match { $p: Person { name: $n } } return { $p.name } }"


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return omnigraph.create(tmp_path / "g", SCHEMA, durability="os")


@pytest.fixture
def people(graph: omnigraph.Graph) -> omnigraph.Graph:
    graph.load(
        [
            {"type": "Person", "data": {"name": "Ada", "age": 36, "note": "two\nlines"}},
            {"type": "Person", "data": {"name": 'Bo, "B"', "note": "x" * 100}},
        ]
    )
    return graph


def query(graph: omnigraph.Graph, *arguments: object, **options: object) -> str:
    result = run("query", "--store", graph.uri, *arguments, **options)  # type: ignore[arg-type]
    assert result.exit_code == 0, result.output
    return result.stdout


# --- formats -----------------------------------------------------------------------------------------------


def test_a_table_has_a_header_padded_columns_a_rule_and_cut_cells(people: omnigraph.Graph) -> None:
    assert list(table_lines(people.query(ALL), 80)) == [
        "2 rows from branch main via people",
        "p.name  | p.age | p.note",
        "--------+-------+-" + "-" * 80,
        "Ada     | 36    | two\\nlines",
        'Bo, "B" | null  | ' + "x" * 79 + "…",
    ]


def test_a_table_that_goes_to_a_program_is_whole(people: omnigraph.Graph) -> None:
    assert query(people, "-e", ALL).splitlines()[-1] == 'Bo, "B" | null  | ' + "x" * 100
    assert query(people, "-e", ALL, "--format", "table") == query(people, "-e", ALL)


def test_a_table_without_rows_still_names_its_columns(graph: omnigraph.Graph) -> None:
    assert query(graph, "-e", ALL).splitlines() == [
        "0 rows from branch main via people",
        "p.name | p.age | p.note",
        "-------+-------+-------",
    ]


def test_wide_characters_keep_their_columns_and_control_characters_are_shown(graph: omnigraph.Graph) -> None:
    graph.load(
        [
            {"type": "Person", "data": {"name": "日本", "age": 1}},
            {"type": "Person", "data": {"name": "\x1b[31mred\t\x07", "age": 2}},
        ]
    )
    lines = query(graph, "-e", "query q() { match { $p: Person } return { $p.name, $p.age } order { $p.age } }")
    assert lines.splitlines()[1:] == [
        "p.name            | p.age",
        "------------------+------",
        "日本              | 1",
        "\\x1b[31mred\\t\\x07 | 2",
    ]


def test_kv_shows_every_row_by_itself(people: omnigraph.Graph) -> None:
    assert query(people, "-e", ALL, "--format", "kv").splitlines() == [
        "2 rows from branch main via people",
        "row 1",
        "p.name: Ada",
        "p.age: 36",
        "p.note: two\\nlines",
        "",
        "row 2",
        'p.name: Bo, "B"',
        "p.age: null",
        "p.note: " + "x" * 100,
    ]


def test_kv_says_that_there_are_no_rows(graph: omnigraph.Graph) -> None:
    shown = query(graph, "-e", ALL, "--format", "kv").splitlines()
    assert shown == ["0 rows from branch main via people", "(no rows)"]


def test_csv_quotes_what_needs_it_and_prints_null(people: omnigraph.Graph) -> None:
    shown = query(people, "-e", ALL, "--format", "csv")
    assert shown == f'p.name,p.age,p.note\nAda,36,"two\nlines"\n"Bo, ""B""",null,{"x" * 100}\n'


def test_jsonl_starts_with_metadata_and_has_a_row_per_line(people: omnigraph.Graph) -> None:
    first, *rows = query(people, "-e", ALL, "--format", "jsonl").splitlines()
    assert first == (
        '{"kind":"metadata","query_name":"people","target":{"branch":"main","snapshot":null},"row_count":2}'
    )
    assert rows[0] == '{"p.name":"Ada","p.age":36,"p.note":"two\\nlines"}'
    assert json.loads(rows[1])["p.age"] is None


@pytest.mark.parametrize("option", [["--json"], ["--format", "json"], ["--json", "--format", "json"]])
def test_json_is_the_envelope_of_reads(people: omnigraph.Graph, option: list[str]) -> None:
    shown = json.loads(query(people, "-e", ALL, *option))
    assert list(shown) == ["query_name", "target", "row_count", "columns", "rows", "graph_commit_id"]
    assert shown["target"] == {"branch": "main", "snapshot": None}
    assert shown["columns"] == ["p.name", "p.age", "p.note"]
    assert shown["rows"][0] == {"p.name": "Ada", "p.age": 36, "p.note": "two\nlines"}
    assert shown["graph_commit_id"] == people.snapshot().commit_id


def test_arrow_is_a_stream_with_types(people: omnigraph.Graph) -> None:
    result = run("query", "--store", people.uri, "-e", ALL, "--format", "arrow")
    table = pa.ipc.open_stream(io.BytesIO(result.stdout_bytes)).read_all()
    assert table.to_pydict()["p.age"] == [36, None]
    assert table.schema.field("p.age").type == pa.int64()


def test_cells_that_are_no_strings_are_json(graph: omnigraph.Graph) -> None:
    data = {"name": "a", "age": 2**53 + 1, "score": 0.5, "born": "2020-02-03", "tags": ["x", "ü"], "vec": [1, 0.5]}
    graph.load([{"type": "Person", "data": data}])
    text = "query q() { match { $p: Person } return { $p.age, $p.score, $p.born, $p.tags, $p.vec, $p } }"
    shown = query(graph, "-e", text, "--format", "csv").splitlines()[1]
    assert shown == '9007199254740993,0.5,2020-02-03,"[""x"",""ü""]","[1.0,0.5]",a'


# --- what is asked, and where ------------------------------------------------------------------------------


def test_a_named_query_of_a_file_with_parameters(people: omnigraph.Graph, tmp_path: Path) -> None:
    (tmp_path / "q.gq").write_text(QUERIES)
    (tmp_path / "p.json").write_text('{"n": "Ada"}')
    for params in (["--params", '{"n": "Ada"}'], ["--params-file", tmp_path / "p.json"]):
        shown = query(people, "one", "--query", tmp_path / "q.gq", *params, "--format", "csv")
        assert shown == "p.name\nAda\n"


def test_branches_commits_and_times(people: omnigraph.Graph) -> None:
    commit = people.snapshot().commit_id
    time = next(people.commits()).created_at_us
    people.create_branch("side")
    people.load([{"type": "Person", "data": {"name": "Cy"}}], branch="side")
    people.load([{"type": "Person", "data": {"name": "Di"}}, {"type": "Person", "data": {"name": "Ed"}}])
    assert query(people, "-e", ALL).startswith("4 rows from branch main")
    assert query(people, "-e", ALL, "--branch", "side").startswith("3 rows from branch side")
    for option in ("--at", "--snapshot"):
        assert query(people, "-e", ALL, option, commit).startswith(f"2 rows from snapshot {commit} via people")
        shown = json.loads(query(people, "-e", ALL, option, commit, "--json"))
        assert shown["target"] == {"branch": None, "snapshot": commit}
    assert query(people, "-e", ALL, "--at", format_datetime(time // 1000 + 1), "--branch", "main").startswith("2 rows")


def test_the_profile_goes_to_standard_error_or_into_the_document(people: omnigraph.Graph) -> None:
    result = run("query", "--store", people.uri, "-e", ALL, "--format", "csv", "--stats")
    assert "Scan $p: Person" in result.stderr
    assert "Scan" not in result.stdout
    shown = json.loads(query(people, "-e", ALL, "--json", "--stats"))
    assert {"operator", "depth", "rows", "seconds"} <= set(shown["profile"][0])


def test_a_text_is_embedded_as_the_environment_says(graph: omnigraph.Graph) -> None:
    vectors = MockEmbedder().embed(["red", "blue"], 2, "document")
    for name, vector in zip(["r", "b"], vectors, strict=True):
        graph.load([{"type": "Person", "data": {"name": name, "vec": list(vector)}}], "append")
    text = 'query q() { match { $p: Person } return { $p.name } order { nearest($p.vec, "blue") } limit 1 }'
    mock = {"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}
    assert query(graph, "-e", text, "--format", "csv", env=mock) == "p.name\nb\n"
    nobody = dict.fromkeys(("OPENAI_API_KEY", "OPENROUTER_API_KEY", "OMNIGRAPH_EMBED_PROVIDER"), "")
    result = run("query", "--store", graph.uri, "-e", text, env={**nobody, "OMNIGRAPH_EMBEDDINGS_MOCK": ""})
    assert result.exit_code == 1
    assert "OPENROUTER_API_KEY" in result.stderr


def test_a_load_makes_vectors_if_the_environment_names_an_embedder(graph: omnigraph.Graph) -> None:
    def load(name: str, env: dict[str, str]) -> str:
        line = json.dumps({"type": "Person", "data": {"name": name, "note": "red"}})
        loaded = run("load", graph.uri, "--data", "-", "--mode", "append", "--quiet", stdin=line, env=env)
        assert loaded.exit_code == 0, loaded.stderr
        text = f'query q() {{ match {{ $p: Person {{ name: "{name}" }} }} return {{ $p.vec }} }}'
        return str(json.loads(query(graph, "-e", text, "--json"))["rows"][0]["p.vec"])

    nobody = {"OMNIGRAPH_EMBEDDINGS_MOCK": "", "OMNIGRAPH_EMBED_PROVIDER": "", "OPENAI_API_KEY": "for something else"}
    assert load("a", nobody) == "None"
    assert load("b", {"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}) == str(list(MockEmbedder().embed(["red"], 2, "document")[0]))


# --- what goes wrong ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "pass a query"),
        (["-e", ALL, "--query", "f.gq"], 2, "not both"),
        (["-e", ALL, "--at", "01X", "--snapshot", "01X"], 2, "not both"),
        (["-e", ALL, "--format", "xml"], 2, "xml"),
        (["-e", ALL, "--timeout", "0"], 2, "timeout"),
        (["-e", ALL, "--branch", "nowhere"], 1, "nowhere"),
        (["-e", ALL, "--snapshot", "01ARZ3NDEKTSV4RRFFQ69G5FAV"], 1, "no commit"),
        (["-e", "query q() { match { $p: Persn } return { $p } }"], 1, "Person"),
        (["-e", 'query q() { insert Person { name: "x" } }'], 2, "writes"),
        (["other", "-e", ALL], 1, "other"),
        (["-e", ALL, "--timeout", "0.000000001"], 1, "longer than"),
    ],
)
def test_mistakes_are_told_with_their_exit_code(
    graph: omnigraph.Graph, arguments: list[str], status: int, message: str
) -> None:
    result = run("query", "--store", graph.uri, *arguments)
    assert result.exit_code == status
    assert message in result.stderr
    assert result.stdout == ""


def test_two_formats_at_once_are_refused_in_json_as_asked(graph: omnigraph.Graph) -> None:
    result = run("query", "--store", graph.uri, "-e", ALL, "--json", "--format", "csv")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"] == "pass either --json or --format, not both"


def test_a_mistake_in_a_file_is_shown_in_the_file(graph: omnigraph.Graph, tmp_path: Path) -> None:
    file = tmp_path / "wrong.gq"
    file.write_text("query q() { match { $p: Persn } return { $p } }")
    assert "wrong.gq:1:" in run("query", "--store", graph.uri, "--query", file).stderr


def test_read_still_works_says_what_to_use_and_is_not_listed(people: omnigraph.Graph) -> None:
    result = run("read", "--store", people.uri, "-e", ALL, "--format", "csv")
    assert result.exit_code == 0
    assert result.stdout == query(people, "-e", ALL, "--format", "csv")
    assert "`read` is deprecated, use `query`" in result.stderr
    assert "read " not in run("--help").stdout.split("Graphs")[1].split("Run a read")[0]


def test_arrow_data_is_not_sent_to_a_terminal(people: omnigraph.Graph) -> None:
    ours, theirs = pty.openpty()
    command = [str(PROGRAM), "query", "--store", people.uri, "-e", ALL, "--format", "arrow"]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(ours)
    os.close(theirs)
    assert result.returncode == 2
    assert b"Arrow output to a terminal is not supported" in result.stderr
