"""The frame: help, version, what is imported, and how a run ends."""

import json
import os
import pty
import signal
import subprocess
import sys

import click
import pytest

import omnigraph.cli.version as version_module
from omnigraph import __version__
from omnigraph.cli.main import main
from omnigraph.cli.root import COMMANDS, root
from tests.features.cli.run import EXAMPLES, PROGRAM, run, run_program


def test_help_lists_every_command_in_its_section() -> None:
    for result in (run("--help"), run("-h"), run()):
        assert result.exit_code == 0
        for name, entry in COMMANDS.items():
            assert f"{entry.section}:" in result.output
            assert any(line.split()[:1] == [name] and entry.summary in line for line in result.output.splitlines())


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_summary_of_a_command_is_the_first_line_of_its_help(name: str) -> None:
    command = root.get_command(click.Context(root), name)
    assert command is not None
    assert (command.help or "").splitlines()[0] == COMMANDS[name].summary
    assert run(name, "--help").exit_code == 0


def test_a_group_without_a_command_shows_its_help() -> None:
    result = run("schema")
    assert result.exit_code == 0
    assert "plan" in result.output


def test_version_is_the_same_however_it_is_asked_for() -> None:
    expected = f"omnigraph {__version__}\nformat 1\n"
    assert [run(*words).output for words in (["version"], ["-V"], ["--version"])] == [expected] * 3
    assert json.loads(run("version", "--json").output) == {"version": __version__, "format": 1}


@pytest.mark.parametrize("words", [["version"], ["--help"], ["--version"], ["nonsense"]])
def test_what_needs_no_file_loads_neither_parsers_nor_heavy_libraries(words: list[str]) -> None:
    program = (
        f"import sys; sys.argv = ['omnigraph', *{words!r}]\n"
        "from omnigraph.cli.main import main\n"
        "main()\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(result.stderr.split())
    assert "omnigraph.cli.root" in loaded
    heavy = {"rich", "lance", "pyarrow", "pyspark", "numpy", "duckdb", "difflib"} - (
        {"difflib"} if words == ["nonsense"] else set()
    )
    assert not loaded & heavy
    assert not [name for name in loaded if name.startswith(("omnigraph.lang", "omnigraph.schema", "omnigraph.query"))]


def _leaves(command: click.Command, path: list[str]) -> list[list[str]]:
    if not isinstance(command, click.Group):
        return [path]
    context = click.Context(command)
    below = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return [leaf for name, inner in below.items() if inner for leaf in _leaves(inner, [*path, name])]


def test_the_help_of_no_command_loads_what_only_work_needs() -> None:
    calls = [["profile", "list"], *([*leaf, "--help"] for leaf in _leaves(root, []))]
    assert len(calls) > len(COMMANDS)
    program = (
        "import sys\nfrom omnigraph.cli.main import main\n"
        f"for words in {calls!r}:\n"
        "    sys.argv = ['omnigraph', *words]\n"
        "    assert main() == 0, words\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"rich", "lance", "pyarrow", "pyspark", "numpy", "duckdb", "obstore", "scipy", "pandas", "pydantic"}
    assert not set(result.stderr.split()) & heavy


def test_a_misspelled_command_is_a_usage_error_that_names_the_right_one() -> None:
    result = run("lnit")
    assert result.exit_code == 2
    assert result.stderr == "error: no such command 'lnit'; did you mean 'lint'?\n  hint: see `omnigraph --help`\n"


@pytest.mark.parametrize(
    "words",
    [["lint"], ["lint", "--nonsense"], ["explain", "--schema", "x.pg"], ["version", "extra"], ["schema", "nonsense"]],
)
def test_usage_errors_exit_with_2_as_text_and_as_json(words: list[str]) -> None:
    text, machine = run(*words), run(*words, "--json")
    assert (text.exit_code, machine.exit_code) == (2, 2)
    assert text.stdout == ""
    assert text.stderr.startswith("error: ")
    told = json.loads(machine.stdout)
    assert told["code"] == "usage"
    assert "--help" in told["hint"]
    assert machine.stderr == ""


def test_a_bug_is_told_briefly_and_its_traceback_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(version_module, "version_text", fail)
    monkeypatch.delenv("OMNIGRAPH_DEBUG", raising=False)
    result = run("version")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: unexpected ZeroDivisionError: division by zero\n  hint: this is a bug")


def test_the_debug_switch_shows_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(version_module, "version_text", lambda: 1 // 0)
    monkeypatch.setenv("OMNIGRAPH_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["omnigraph", "version"])
    assert main() == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_exits_with_130_and_one_quiet_line(tmp_path_factory: pytest.TempPathFactory) -> None:
    fifo = tmp_path_factory.mktemp("interrupt") / "schema.pg"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [str(PROGRAM), "lint", "--schema", str(fifo)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    # Opening the other end succeeds once the program waits for its schema, and it goes on waiting.
    with open(fifo, "w"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == "interrupted"


def test_a_reader_that_goes_away_is_no_reason_to_complain() -> None:
    command = f"'{PROGRAM}' lint --schema social.pg --query mistakes.gq --json | true"
    result = subprocess.run(["bash", "-c", command], cwd=EXAMPLES, capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_an_error() -> None:
    command = f"'{PROGRAM}' version > /dev/full"
    # As a shell has it: a stream without a buffer has nothing left to write at the end.
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    result = subprocess.run(["bash", "-c", command], env=buffered, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == "error: cannot write the output: no space left on device\n"


def _on_a_terminal(env: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    command = [str(PROGRAM), "lint", "--schema", "social.pg", "--query", "mistakes.gq"]
    base = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(command, cwd=EXAMPLES, env={**base, "TERM": "xterm", **env}, stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:
            pass  # Linux says EIO instead of the end of the file when the other side is closed.
        assert process.wait(timeout=30) == 1
    os.close(ours)
    return shown.decode()


def test_colour_appears_on_terminals_only_and_not_against_the_wish_of_their_user() -> None:
    assert "\x1b[" in _on_a_terminal({})
    assert "\x1b[" not in _on_a_terminal({"NO_COLOR": "1"})
    assert "\x1b[" not in _on_a_terminal({"TERM": "dumb"})
    assert "\x1b[" not in run_program("lint", "--schema", "social.pg", "--query", "mistakes.gq").stdout


def test_the_shell_can_complete_commands() -> None:
    env = {"_OMNIGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": "omnigraph li", "COMP_CWORD": "1"}
    assert "lint" in run_program(env=env).stdout
