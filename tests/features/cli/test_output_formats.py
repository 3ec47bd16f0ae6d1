"""Rows for programs and terminals: formats, --output, --null, and readers that go away."""

import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph
from omnigraph.cli.show.terminal_tables import fitted, shown_text
from tests.features.cli.run import PROGRAM, run

SCHEMA = """
node Item { name: String @key
    n: I64?
    f: F32?
    note: String?
    v: Vector(8)? }
"""
QUERY = "query q() { match { $i: Item } return { $i.name, $i.n, $i.f, $i.note } order { $i.name } }"
VECTOR = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    graph = omnigraph.create(tmp_path_factory.mktemp("formats") / "g", SCHEMA, durability="os")
    rows = [
        {"name": "a", "n": 1, "f": 0.1, "note": "null", "v": VECTOR},
        {"name": "b", "note": 'a\t"tab"'},
        {"name": "c", "n": 3, "note": ""},
    ]
    graph.load([{"type": "Item", "data": row} for row in rows])
    return graph.uri


def shown(store: str, *words: object) -> str:
    result = run("query", "--store", store, "-e", QUERY, *words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["csv"], 'a,1,0.1,null\nb,null,null,"a\t""tab"""\nc,3,null,\n'),
        (["csv", "--null", ""], 'a,1,0.1,null\nb,,,"a\t""tab"""\nc,3,,""\n'),
        (["csv", "--null", "NA"], 'a,1,0.1,null\nb,NA,NA,"a\t""tab"""\nc,3,NA,\n'),
        (["tsv"], 'a\t1\t0.1\t"null"\nb\tnull\tnull\t"a\t""tab"""\nc\t3\tnull\t\n'),
        (["tsv", "--null", "\\N"], 'a\t1\t0.1\tnull\nb\t\\N\t\\N\t"a\t""tab"""\nc\t3\t\\N\t\n'),
    ],
)
def test_delimited_rows_keep_null_apart_from_texts(store: str, words: list[str], expected: str) -> None:
    separator = "," if words[0] == "csv" else "\t"
    assert shown(store, "--format", *words) == separator.join(["i.name", "i.n", "i.f", "i.note"]) + "\n" + expected


def test_f32_is_printed_as_written_for_people_and_widened_in_json(store: str) -> None:
    for format_ in ("table", "kv", "csv", "tsv"):
        assert "0.10000000149011612" not in shown(store, "--format", format_)
    for format_ in ("json", "jsonl", "ndjson"):
        assert "0.10000000149011612" in shown(store, "--format", format_)
    vector = 'query q() { match { $i: Item { name: "a" } } return { $i.v } }'
    result = run("query", "--store", store, "-e", vector, "--format", "csv")
    assert result.stdout == 'i.v\n"[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8]"\n'


def test_ndjson_is_jsonl_without_its_first_record(store: str) -> None:
    assert shown(store, "--format", "ndjson") == shown(store, "--format", "jsonl").split("\n", 1)[1]


def test_json_is_streamed_in_the_layout_of_one_document(store: str) -> None:
    text = shown(store, "--json")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
    empty = run("sql", "--store", store, "select name from Item where false", "--json").stdout
    assert json.loads(empty)["rows"] == []
    assert empty == json.dumps(json.loads(empty), indent=2) + "\n"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "ndjson", "arrow", "parquet"])
def test_a_file_has_the_format_of_its_suffix_and_the_bytes_of_the_pipe(store: str, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"rows.{suffix}"
    result = run("query", "--store", store, "-e", QUERY, "--output", file)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"ok: wrote {file}\n"
    piped = run("query", "--store", store, "-e", QUERY, "--format", suffix)
    assert file.read_bytes() == piped.stdout_bytes


def test_binary_formats_keep_types_and_lists_have_them_too(store: str) -> None:
    parquet = run("query", "--store", store, "-e", QUERY, "--format", "parquet").stdout_bytes
    table = pq.read_table(io.BytesIO(parquet))
    assert table.schema.types == [pa.string(), pa.int64(), pa.float32(), pa.string()]
    assert table.column("i.n").to_pylist() == [1, None, 3]
    counts = pq.read_table(io.BytesIO(run("snapshot", store, "--format", "parquet").stdout_bytes))
    assert counts.to_pylist() == [
        {"type": "Item", "kind": "node", "entities": 3, "version": counts["version"][0].as_py()}
    ]


def test_a_failed_command_keeps_the_old_file(store: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("old")
    result = run("query", "--store", store, "-e", QUERY, "--branch", "nowhere", "--output", file)
    assert (result.exit_code, file.read_text(), list(tmp_path.iterdir())) == (1, "old", [file])


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--null", "x"], 2, "--null applies to the formats csv and tsv, not to table"),
        (["--null", "x", "--json"], 2, "not to json"),
        (["--null", "x", "--output", "rows.parquet"], 2, "not to parquet"),
        (["--format", "csv", "--null", "a,b"], 2, "separator"),
        (["--format", "tsv", "--null", "a\nb"], 2, "line break"),
        (["--format", "excel"], 2, "'excel' is not one of"),
        (["--format", "csv", "--json"], 2, "not both"),
        (["--output", "missing/rows.csv"], 1, "there is no directory missing"),
        (["--output", "/proc/rows.csv"], 1, "cannot write /proc/rows.csv"),
        (["--output", "s3://bucket"], 2, "names no object"),
        (["--output", ""], 1, "cannot write"),
    ],
)
def test_wrong_outputs_are_refused(store: str, words: list[str], status: int, message: str) -> None:
    result = run("query", "--store", store, "-e", QUERY, *words)
    assert (result.exit_code, message in result.output) == (status, True), result.output


def test_a_type_without_a_form_in_parquet_is_named(store: str) -> None:
    result = run("sql", "--store", store, "select interval 1 day as d", "--format", "parquet")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "column 'd'" in result.stderr
    assert "write Arrow" in result.stderr


def on_terminal(columns: int, *words: str) -> tuple[int, str]:
    """The exit code and the screen of a process whose standard output is a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment |= {"TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen([str(PROGRAM), *words], env=environment, stdout=theirs, stdin=subprocess.DEVNULL) as process:
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 4096):
                seen += chunk
        except OSError:
            pass  # Linux reports EIO at the end of a closed terminal.
        status = process.wait(timeout=60)
    os.close(ours)
    return status, seen.decode().replace("\r\n", "\n")


def test_a_table_on_a_terminal_fits_and_aligns_numbers(store: str) -> None:
    text = "query q() { match { $i: Item } return { $i.name, $i.n, $i.v, $i.note } order { $i.name } limit 2 }"
    status, screen = on_terminal(40, "query", "--store", store, "-e", text)
    assert status == 0
    lines = screen.splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[1].split() == ["i.name", "i.n", "i.v", "i.note"]
    assert lines[2].startswith("a          1  [0.1,0.2,0")
    assert "values]" in screen
    assert "\x1b" not in screen
    assert on_terminal(20, "query", "--store", store, "-e", text)[1].splitlines()[1:4] == [
        "row 1",
        "i.name: a",
        "i.n: 1",
    ]
    status, screen = on_terminal(80, "query", "--store", store, "-e", QUERY, "--format", "parquet")
    assert (status, screen) == (2, "")


@pytest.mark.parametrize(
    ("natural", "is_number", "available", "expected"),
    [
        ([5, 5], [False, False], 12, [5, 5]),
        ([5, 50], [False, False], 40, [5, 33]),
        ([30, 30, 10], [False, False, True], 44, [15, 15, 10]),
        ([30, 30], [True, True], 22, [10, 10]),
        ([30, 30, 30], [False] * 3, 20, None),
    ],
)
def test_the_widest_columns_give_way(
    natural: list[int], is_number: list[bool], available: int, expected: list[int] | None
) -> None:
    assert fitted(natural, is_number, available) == expected


def test_long_vectors_are_shortened_and_other_values_are_not() -> None:
    assert shown_text(VECTOR) == "[0.1,0.2,0.3,… 8 values]"
    for whole in ([0.1, 0.2], ["a"] * 8, [True] * 8, [None] * 8, "[1,2,3,4,5,6,7,8]"):
        assert "…" not in shown_text(whole)


@pytest.mark.parametrize(
    "words",
    [
        ["query", "-e", QUERY, "--format", "csv"],
        ["query", "-e", QUERY, "--format", "arrow"],
        ["query", "-e", QUERY, "--format", "parquet"],
        ["query", "-e", QUERY, "--branch", "nowhere", "--json"],
        ["export"],
        ["commit", "list"],
        ["--help"],
    ],
)
def test_a_reader_that_goes_away_ends_the_program_quietly(store: str, words: list[str]) -> None:
    closed, output = os.pipe()
    os.close(closed)
    result = subprocess.run(
        [str(PROGRAM), *words],
        env={**os.environ, "OMNIGRAPH_STORE": store},
        stdout=output,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(output)
    assert (result.returncode, result.stderr) == (141, b"")
