"""`omnigraph shell`: inputs, commands, scripts from a pipe, mistakes, and a conversation on a real terminal."""

import json
import os
import pty
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import omnigraph
from omnigraph.cli.commands.shell import command
from omnigraph.cli.shell import inputs
from omnigraph.cli.shell.completer import candidates
from omnigraph.cli.shell.history_file import history_path, usable_history
from omnigraph.cli.shell.interrupts import cancellable
from omnigraph.cli.shell.programs import Origin, programs
from omnigraph.cli.shell.session import Session
from omnigraph.cli.shell.shell import Shell
from omnigraph.errors import QueryCancelled
from tests.features.cli.graphs import head
from tests.features.cli.run import PROGRAM, run

READ = "match { $p: Person } return { $p.name } order { $p.name }"


def script(graph: Path, *lines: str, options: tuple[str, ...] = ()) -> click.testing.Result:
    return run("shell", graph, *options, stdin="\n".join(lines) + "\n")


def said(graph: Path, *lines: str, options: tuple[str, ...] = ("--format", "csv")) -> str:
    result = script(graph, *lines, options=options)
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    return result.stdout


@pytest.fixture
def shell(graph: Path) -> Iterator[Shell]:
    """A shell without a terminal or a process, as an embedding would have it."""
    with click.Context(command).scope():
        yield Shell(Session(omnigraph.open(graph), format="csv"))


# --- where an input ends ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_complete"),
    [
        ("match { $p: Person }", False),
        ("match { $p: Person } return {", False),
        (READ, True),
        (f"{READ} limit", False),
        ("query q() {", False),
        (f"query q() {{ {READ}", False),
        (f"query q() {{ {READ} }}", True),
        ("insert Person", False),
        ('insert Person { name: "x" }', True),
        ("update Person set { age: 1 }", False),
        ('update Person set { age: 1 } where name = "x"', True),
        ("delete Person", False),
        ('match { $p: Person { name: "open', False),
        ("/* open", False),
        ("nonsense", True),
        ("match { $p Person } return { $p }", True),
        (f"{READ};", True),
        ("match { $p: Person };", True),
        ("select 1", False),
        ("select 1;", True),
        ("select ';' as x", False),
        ("select 1 -- ;", False),
        ("with a as (select 1)", False),
        ("\\d", True),
        ("\\sql", False),
        ("\\sql select 1", True),
        ("\\sql select (1", False),
        ("\\sql\nselect 1", False),
        ("\\sql\nselect 1;", True),
        ("\\explain match { $p: Person }", False),
        (f"\\explain {READ}", True),
        ("exit", True),
    ],
)
def test_an_input_is_complete_where_it_can_end(text: str, is_complete: bool) -> None:
    assert inputs.is_complete(text) is is_complete


def test_lines_that_continue_a_query_are_joined_and_others_wait_for_nothing() -> None:
    lines = ["match { $p: Person }", "return { $p }", "order { $p.name }", "limit 1", "\\d", "a;", "b", "", "c"]
    assert list(inputs.joined(lines)) == [
        (1, "match { $p: Person }"),
        (2, "return { $p }\norder { $p.name }\nlimit 1"),
        (5, "\\d"),
        (6, "a;"),
        (7, "b"),
        (8, ""),
        (9, "c"),
    ]


def test_a_long_input_is_parsed_once_it_may_end(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(inputs, "_needs_more", lambda text: bool(checked.append(text)))
    for line in ("query q() {", *['  insert City { name: "a}" }'] * 50):
        shell.run_line(line)
    assert checked == []
    assert shell.is_pending


# --- what runs ----------------------------------------------------------------------------------------------


def test_bodies_queries_and_sql_run_alike(graph: Path) -> None:
    lines = [
        READ,
        "",
        "// a comment",
        "match { $p: Person }",
        "return { $p.name }",
        "order { $p.name desc }",
        "limit 1",
        "query q() {",
        '  match { $p: Person { name: "Ada" } }',
        "",
        "  return { $p.age }",
        "}",
        "select count(*) as people",
        "from Person;",
        "\\sql select 1 as one",
        "\\sql",
        "select 2",
        "as two",
        "",
        f"{READ} limit 1; {READ} offset 1;",
    ]
    assert said(graph, *lines).split("\n") == [
        *("p.name", "Ada", "Alan", "p.name", "Alan", "p.age", "36", "people", "2", "one", "1", "two", "2"),
        *("p.name", "Ada", "p.name", "Alan", ""),
    ]


def test_a_mutation_is_one_commit_that_the_next_query_sees(graph: Path) -> None:
    before = head(graph)
    two = 'query two($n: String) { insert Person { name: $n } insert City { name: "Paris" } }'
    shown = said(graph, "\\set n Grace", two, READ, 'delete Person where name = "nobody"').splitlines()
    assert shown[0].startswith("ok: 2 nodes, no edges changed on main, commit ")
    assert shown[1:] == ["p.name", "Ada", "Alan", "Grace", "ok: nothing to change, no commit"]
    assert next(omnigraph.open(graph).commits()).parents == (before,)


def test_a_parameter_has_the_type_of_its_use(graph: Path) -> None:
    catalog = omnigraph.open(graph).catalog()
    cases = {
        "match { $p: Person { name: $v } } return { $p }": ("Ada", "String"),
        "match { $p: Person $p.age > $v } return { $p }": (30, "I64"),
        "match { $p: Person $p $k: knows $f $k.since > $v } return { $f }": ("2020-01-01", "Date"),
        "match { $p: Person $p.name in $v } return { $p }": (["Ada"], "[String]"),
        "match { $p: Person $p.age = $v } return { $p }": (None, "I64?"),
    }
    for body, (value, type_) in cases.items():
        (program,) = programs(body, catalog, {"v": value, "other": 1}, Origin())
        assert program.text.startswith(f"query shell($v: {type_}) {{"), program.text
        assert program.parameters == {"v": value}
    (program,) = programs("match { $v: Person } return { $v }", catalog, {"v": 1}, Origin())
    assert program.text.startswith("query shell() {")


def test_the_commands_show_and_change_the_session(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    def shown(*lines: str) -> list[str]:
        assert all(shell.run_line(line) for line in lines), capsys.readouterr().err
        return capsys.readouterr().out.splitlines()

    first = shell.session.snapshot().commit_id
    assert shown("\\d") == [
        "type,kind,entities,about",
        "City,node,1,key name",
        "Person,node,2,key name",
        "Knows,edge,1,Person -> Person",
    ]
    assert shown("\\d Person") == ["property,type,about", "name,String,@key", "age,I32?,"]
    assert shown("\\o table", "\\d Person")[-2:] == ["  @range(age, 0..150)", "  edge Knows: Person -> Person"]
    assert shown("\\o") == ["table"]
    assert shown("\\o csv", "\\branch -c try", 'insert City { name: "Rome" }')[0] == "created branch try"
    assert shell.session.prompt == "graph:try> "
    assert [line.split(",")[:2] for line in shown("\\branch")] == [["used", "branch"], ["", "main"], ["*", "try"]]
    assert shown("\\diff main")[1].startswith("node,City,Rome,insert")
    assert shown("\\diff") == shown("\\diff main try") == shown("\\diff main..") == shown("\\diff HEAD~1")
    assert len(shown("\\log")) == 4
    assert len(shown("\\log 1")) == 2
    assert shown(f"\\at {first}") == [f"at commit {first}; \\at returns to the head"]
    assert shell.session.prompt == f"graph:try@{first[:20]}…> "
    assert shown("match { $c: City } return { count($c) as n }") == ["n", "1"]
    assert shown("\\at", "match { $c: City } return { count($c) as n }") == ["n", "2"]
    assert shown("\\branch main", "\\set x [1, 2]", "\\set y plain text", "\\set") == [
        *("parameter,value", 'x,"[1,2]"', 'y,"""plain text"""'),
    ]
    assert shown("\\unset x", "\\set years NaN", "\\sql select $years as y") == ["y", "NaN"]
    assert shown("\\sql select $y as y") == ["y", "plain text"]
    assert shown("\\timing on") == ["timing is on"]
    assert "Scan $p: Person" in "\n".join(shown(f"\\explain {READ}"))
    assert "\\branch [NAME | -c NAME [FROM]]" in "\n".join(shown("\\help branch"))
    assert shown("help")[0].split() == ["command", "effect"]
    assert shown("exit") == []
    assert shell.is_done


def test_a_pasted_text_runs_as_one_input_or_as_a_script(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    before = shell.session.snapshot().commit_id
    assert shell.run_text('insert City { name: "A" }\ninsert City { name: "B" }')
    assert shell.session.graph.commit(shell.session.snapshot().commit_id).parents == (before,)
    assert capsys.readouterr().out.count("ok:") == 1
    assert shell.run_text(f"{READ}\n{READ} limit 1\n\n\\o\nselect 1 as n;\nselect 2\nas n")
    assert capsys.readouterr().out.split() == ["p.name", "Ada", "Alan", "p.name", "Ada", "csv", *("n", "1", "n", "2")]
    assert not shell.run_text(f"{READ}\nmatch {{ $p: Persn }}\nreturn {{ $p }}\n{READ}")
    shown = capsys.readouterr()
    assert shown.out.split() == ["p.name", "Ada", "Alan"]
    assert "<shell>:2:13: error[T1]" in shown.err


def test_timing_goes_to_standard_error(graph: Path) -> None:
    result = script(graph, "\\timing", READ)
    assert "time: " in result.stderr
    assert "time: " not in result.stdout


def test_a_file_runs_as_if_typed_and_its_mistakes_name_it(graph: Path, tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.gq", tmp_path / "outer.gq"
    inner.write_text(f"query a() {{ {READ} }}\n\nquery a() {{\n  match {{ $p: Persn }}\n  return {{ $p }}\n}}\n")
    outer.write_text(f"\\i {inner}\n{READ}\n")
    result = script(graph, f"\\i {outer}", READ, options=("--format", "csv"))
    assert result.stdout == "p.name\nAda\nAlan\n"
    assert f"{inner}:4:15: error[T1]: unknown node type `Persn`" in result.stderr
    outer.write_text(f"\\i {outer}\n")
    assert "is run by itself" in script(graph, f"\\i {outer}").stderr


def test_the_exit_code_of_a_script_is_that_of_its_first_error(graph: Path) -> None:
    stopped = script(graph, "\\d Persn", "\\nope", READ, options=("--format", "csv"))
    assert (stopped.exit_code, stopped.stdout) == (1, "")
    assert stopped.stderr.splitlines()[-1] == "  at <stdin>:1"
    going = script(graph, "\\d Persn", "\\nope", READ, options=("--format", "csv", "--keep-going"))
    assert (going.exit_code, going.stdout) == (1, "p.name\nAda\nAlan\n")
    assert script(graph, "\\q", "\\nope").exit_code == 0


def test_json_prints_documents_and_errors_as_documents(graph: Path) -> None:
    result = script(graph, READ, 'insert City { name: "Oslo" }', "\\nope", options=("--json",))
    decoder, text, documents = json.JSONDecoder(), result.stdout, []
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        documents.append(document)
        text = text.lstrip()[end:]
    assert [next(iter(document)) for document in documents] == ["query_name", "branch", "error"]
    assert documents[2]["code"] == "usage"
    assert result.stderr == ""


WRONG = [
    ("match { $p: Persn } return { $p }", 1, "did you mean `Person`?"),
    ("match { $p: Person { name: $n } } return { $p }", 1, "\\set n VALUE sets a parameter"),
    ("match { $p: Person }", 1, "expected `return`"),
    (f"{READ};\n{READ} limit x", 1, "<stdin>:2:"),
    (f"{READ}; match {{ $p: Person }} return {{ $p.nme }}", 1, "did you mean `name`?"),
    (f"{READ};\nlimit 1", 2, "`limit` belongs to a query"),
    ("nonsense", 1, "expected `match`, `insert`, `update` or `delete`"),
    ('insert Person { nme: "x" }', 1, "did you mean `name`?"),
    ("query q($n: String) { insert City { name: $n } }", 1, "parameter 'n' not provided"),
    ('"open', 1, "never closed"),
    ("select nothing from Person;", 1, "nothing"),
    ("\\sql drop table Person", 1, "expected a select statement"),
    ("\\sql", 2, "\\sql needs an argument"),
    ("\\explain", 2, "usage: \\explain QUERY"),
    ("\\brnch", 2, "did you mean `\\branch`?"),
    ("\\branch nowhere", 1, "nowhere"),
    ("\\branch -c", 2, "usage: \\branch"),
    ("\\branch -c main", 1, "main"),
    ("\\at never", 1, "never"),
    ("\\o xml", 2, "formats: table"),
    ("\\o parquet", 2, "--output rows.parquet"),
    ("\\set 1x 2", 2, "'1x' is not the name of a parameter"),
    ("\\set x", 2, "no value"),
    ('\\set x {"a": 1}', 2, "is an object"),
    ("\\unset x", 2, "there is no parameter 'x'"),
    ("\\timing maybe", 2, "usage: \\timing"),
    ("\\log none", 2, "'none' is not a number of commits"),
    ("\\diff a b c", 2, "usage: \\diff"),
    ("\\diff nowhere", 1, "nowhere"),
    ("\\d Persn", 1, "did you mean `Person`?"),
    ("\\i missing.gq", 1, "no such file: missing.gq"),
    ("\\help nope", 2, "unknown command \\nope"),
]


@pytest.fixture(scope="module")
def wrong_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wrong") / "g"
    omnigraph.create(path, "node Person { name: String @key }\nnode City { name: String @key }", durability="os")
    return path


@pytest.mark.parametrize(("text", "status", "message"), WRONG)
def test_mistakes_are_explained(wrong_graph: Path, text: str, status: int, message: str) -> None:
    result = script(wrong_graph, text)
    assert (result.exit_code, message in result.stderr) == (status, True), result.output


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--branch", "nowhere"], 1, "nowhere"),
        (["--at", "never"], 1, "never"),
        (["--format", "parquet"], 2, "parquet"),
        (["--json", "--format", "csv"], 2, "not both"),
    ],
)
def test_a_shell_that_cannot_begin_says_why(wrong_graph: Path, options: list[str], status: int, message: str) -> None:
    result = run("shell", wrong_graph, *options, stdin="\\d\n")
    assert (result.exit_code, message in result.output) == (status, True), result.output


def test_nothing_is_written_read_only_or_in_the_past(graph: Path) -> None:
    insert, before = 'insert City { name: "Rome" }', head(graph)
    for lines in ([insert], ["\\branch -c b"]):
        result = script(graph, *lines, options=("--read-only",))
        assert (result.exit_code, "read-only" in result.stderr) == (2, True)
    result = script(graph, f"\\at {before}", insert)
    assert (result.exit_code, "in the past" in result.stderr) == (2, True)
    assert head(graph) == before
    assert said(graph, READ, options=("--read-only", "--at", before, "--format", "ndjson")).count("p.name") == 2


def test_input_that_is_not_text_is_refused(graph: Path) -> None:
    result = run("shell", graph, stdin=b"\\d\n\xff\n")
    assert result.exit_code == 1
    assert "line 2 of <stdin> is not UTF-8 text: byte 0xff" in result.stderr


# --- on a terminal ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\br", ["\\branch"]),
        ("\\d P", ["Person"]),
        ("\\branch m", ["main"]),
        ("\\o nd", ["ndjson"]),
        ("\\timing o", ["on", "off"]),
        ("\\unset w", ["who"]),
        ("\\help \\ti", ["\\timing"]),
        ("\\sql select name from Per", ["Person"]),
        ("select ag", ["age"]),
        ("\\explain match { $p: Per", ["Person"]),
        ("match { $p: Person } return { $p.ag", ["age"]),
        ("match { $p: Person { name: $w", ["$who"]),
        ("\\i tests/features/cli/test_she", ["tests/features/cli/test_shell.py"]),
        ("\\nope ", []),
    ],
)
def test_the_shell_completes_commands_queries_and_sql(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, text: str, expected: list[str]
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    shell.session.parameters["who"] = "Ada"
    found = candidates(shell.session, text, len(text))
    assert [item.text for item in found.candidates] == expected


def test_the_history_is_private_and_optional(tmp_path: Path) -> None:
    path = history_path({"XDG_STATE_HOME": str(tmp_path / "state")})
    assert path == tmp_path / "state" / "omnigraph" / "shell_history"
    assert usable_history(path) == path
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "file").write_text("")
    assert usable_history(tmp_path / "file" / "history") is None


def test_ctrl_c_cancels_what_runs_and_nothing_else(graph: Path) -> None:
    def work(cancel: threading.Event) -> None:
        # The signal reaches the main thread, which waits for this one.
        os.kill(os.getpid(), signal.SIGINT)
        omnigraph.open(graph).sql("select count(*) from range(1000000000000000)", cancel=cancel)

    with pytest.raises(QueryCancelled, match="the statement was cancelled"):
        cancellable(work)
    assert cancellable(lambda cancel: cancel.is_set()) is False


class Terminal:
    """A shell on a pseudo-terminal. ``wait`` reads until a text has appeared, so that no time is guessed."""

    def __init__(self, graph: Path, state: Path) -> None:
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PROMPT_TOOLKIT_NO_CPR": "1"}
        environment["XDG_STATE_HOME"] = str(state)
        self.process = subprocess.Popen(
            [str(PROGRAM), "shell", str(graph)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        self._ours = ours
        self._seen = ""

    def send(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def wait(self, wanted: str) -> None:
        """Read until the text appears after what was read before."""
        deadline = time.monotonic() + 30
        while wanted not in self._seen:
            ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{wanted!r} does not appear in {self._seen!r}"
            self._seen += os.read(self._ours, 65536).decode(errors="replace")
        self._seen = self._seen.partition(wanted)[2]

    def close(self) -> int:
        status = self.process.wait(timeout=60)
        os.close(self._ours)
        return status


def test_a_conversation_on_a_terminal(graph: Path, tmp_path: Path) -> None:
    terminal = Terminal(graph, tmp_path)
    try:
        terminal.wait("graph:main>")
        terminal.send("match { $p: \t")
        terminal.wait("City")
        terminal.wait("Person")
        terminal.send("\x03")
        terminal.wait("graph:main>")
        terminal.send("match { $p: Person }\r")
        terminal.wait("...")
        terminal.send("return { $p.name, $p.age }\r")
        terminal.wait("2 rows from branch main")
        terminal.wait("graph:main>")
        terminal.send("\\nope\r")
        terminal.wait("unknown command")
        terminal.wait("graph:main>")
        terminal.send("\x04")
        assert terminal.close() == 0
    finally:
        terminal.process.kill()
    assert "+return { $p.name, $p.age }" in (tmp_path / "omnigraph" / "shell_history").read_text()
