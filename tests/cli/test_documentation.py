"""The page about the command line, the tour of the README and the demo say what is true."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from omnigraph.cli.root import COMMANDS, root
from tests.cli.run import EXAMPLES, PROGRAM, REPOSITORY

PAGE = REPOSITORY / "docs" / "user" / "cli.md"
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _commands(inner, f"{path} {name}".strip())


@pytest.mark.parametrize(("path", "command"), list(_commands(root, "")))
def test_every_command_and_option_is_explained_in_its_section(path: str, command: click.Command) -> None:
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {path}\n")[1].split("\n## ")[0]
    spelled = [name for param in command.params if isinstance(param, click.Option) for name in param.opts]
    shared = {"--json"}
    missing = [
        name for name in spelled if name not in shared and not re.search(rf"(?<![\w-]){re.escape(name)}\b", section)
    ]
    assert not missing
    assert f"omnigraph {path}" in section


def test_aliases_options_of_the_program_and_exit_codes_are_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for entry in COMMANDS.values():
        for alias in entry.aliases:
            assert f"`omnigraph {alias}`" in page
    for option in ("--version", "-V", "--help", "-h", "--json", "NO_COLOR", "OMNIGRAPH_DEBUG"):
        assert option in page
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == ["0", "1", "2", "130"]


def _sessions() -> Iterator[object]:
    for page in (PAGE, REPOSITORY / "README.md"):
        for number, block in enumerate(CONSOLE.findall(page.read_text(encoding="utf-8")), 1):
            yield pytest.param(block, id=f"{page.name}-{number}")


@pytest.mark.parametrize("session", list(_sessions()))
def test_every_console_session_happens_as_shown(session: str, tmp_path: Path) -> None:
    work = tmp_path / "examples"
    shutil.copytree(EXAMPLES, work)
    for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        assert command.startswith("omnigraph ")
        line = command.replace("omnigraph", f"'{PROGRAM}'", 1)
        result = subprocess.run(["bash", "-c", f"{line} 2>&1"], cwd=work, capture_output=True, text=True, check=False)
        assert result.stdout.strip() == expected.strip(), command


def test_the_examples_are_formatted_and_correct() -> None:
    files = ["social.pg", "social_v2.pg", "social.gq", "mistakes.gq"]
    checked = subprocess.run([str(PROGRAM), "fmt", "--check", *files], cwd=EXAMPLES, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stdout
    for schema in ("social.pg", "social_v2.pg"):
        subprocess.run([str(PROGRAM), "lint", "--schema", schema], cwd=EXAMPLES, capture_output=True, check=True)


def test_the_demo_runs_from_anywhere_twice_alike_and_changes_nothing(tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in EXAMPLES.iterdir()}
    command = ["bash", str(EXAMPLES / "demo.sh")]
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "OMNIGRAPH": str(PROGRAM), "HOME": str(tmp_path)}
    runs = [
        subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False) for _ in range(2)
    ]
    assert [done.returncode for done in runs] == [0, 0], runs[0].stdout + runs[0].stderr
    assert runs[0].stdout == runs[1].stdout
    assert "What to try next" in runs[0].stdout
    assert "\x1b[" not in runs[0].stdout
    assert {file.name: file.read_bytes() for file in EXAMPLES.iterdir()} == before
