"""The page about the command line, the tour of the README and the demo say what is true."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from omnigraph.cli.root import COMMANDS, root
from tests.features.cli.run import EXAMPLES, PROGRAM, REPOSITORY, run

PAGE = REPOSITORY / "docs" / "user" / "cli.md"
PAGES = (
    *(
        PAGE.with_name(f"{name}.md")
        for name in (
            *("cli", "shell", "importing", "exporting", "storage", "maintenance"),
            *("backup", "upgrade", "troubleshooting", "policy", "cluster"),
        )
    ),
    REPOSITORY / "README.md",
    EXAMPLES / "ldbc" / "README.md",
)
EVERYWHERE = ("--json", "-v", "--verbose", "--log-format")
SHARED_OPTIONS = {
    *EVERYWHERE,
    *(
        "--store",
        "--uri",
        "--profile",
        "--storage-option",
        "--durability",
        "--as",
        "--policy",
        "--quiet",
        "-q",
        "-y",
        "--format",
    ),
}
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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
def test_every_command_is_listed_with_a_link_to_all_its_options(path: str, command: click.Command) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"[`{path}`](cli-reference.md#omnigraph-{path.replace(' ', '-')})" in page
    reference = PAGE.with_name("cli-reference.md").read_text(encoding="utf-8")
    section = reference.split(f"\n## omnigraph {path}\n")[1].split("\n## ")[0]
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    spelled = [name for param in options for name in param.opts]
    assert not [name for name in spelled if not re.search(rf"(?<![\w-]){re.escape(name)}\b", section)]


def test_aliases_options_of_the_program_and_exit_codes_are_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for entry in COMMANDS.values():
        for alias in entry.aliases:
            assert f"`omnigraph {alias}`" in page
    for option in ("--version", "-V", "--help", "-h", "NO_COLOR", "OMNIGRAPH_DEBUG", *EVERYWHERE):
        assert option in page
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == ["0", "1", "2", "4", "130", "141"]
    section = page.split("\n## Commands on a graph\n")[1].split("\n## ")[0]
    assert "`-q`" in section
    assert "`-y`" in section
    for option in SHARED_OPTIONS - set(EVERYWHERE) | {"OMNIGRAPH_STORE", "OMNIGRAPH_ACTOR"}:
        assert option in section


def _sessions() -> Iterator[object]:
    for page in PAGES:
        for number, block in enumerate(CONSOLE.findall(page.read_text(encoding="utf-8")), 1):
            yield pytest.param(block, id=f"{page.relative_to(REPOSITORY)}-{number}")


def _copy_of_the_examples(place: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES, place / "examples", ignore=shutil.ignore_patterns("*.omni")))


def _steady(shown: str, work: Path) -> str:
    """What is shown, without what differs from run to run: ids, digests, times, sizes, and the place of the test."""
    shown = re.sub(r"\b01[0-9A-Z]{24}\b", "<id>", shown.replace(str(work), "WORK"))
    shown = re.sub(r"\b[0-9a-f]{64}\b", "<digest>", shown)
    shown = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "<time>", shown)
    return re.sub(r"\b[\d,]+ (files|bytes)", r"<many> \1", shown)


def _programs() -> list[str]:
    """Those of the README one by one; on a page that tells a story each goes on where the one before it ended.

    Those that need Spark are run with the tests of Spark.
    """
    stories = [page for page in sorted(PAGE.parent.glob("*.md")) if page.name != "spark.md"]
    readme, *told = (
        [block for block in PYTHON.findall(page.read_text(encoding="utf-8")) if "spark" not in block]
        for page in (REPOSITORY / "README.md", *stories)
    )
    return [*readme, *("\n".join(story) for story in told if story)]


@pytest.mark.parametrize("program", _programs())
def test_every_python_program_of_the_documentation_runs(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(_copy_of_the_examples(tmp_path))
    exec(compile(program, "documentation", "exec"), {"__name__": "__main__"})


def _shown(command: str) -> str:
    """What a terminal shows for a command. Only what begins otherwise than with the program needs a process for it."""
    if not command.startswith("omnigraph "):
        return _by_bash(f"omnigraph() {{ '{PROGRAM}' \"$@\"; }}; exec 2>&1; {command}")
    program, _, others = command.partition(" | ")
    result = run(*shlex.split(program)[1:])
    return result.stderr + _by_bash(others, result.stdout) if others else result.output


def _by_bash(script: str, given: str = "") -> str:
    return subprocess.run(["bash", "-c", script], input=given, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("session", list(_sessions()))
def test_every_console_session_happens_as_shown(session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _copy_of_the_examples(tmp_path)
    monkeypatch.chdir(work)
    for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        assert "omnigraph " in command
        assert _steady(_shown(command).strip(), work) == _steady(expected.strip(), work), command


def test_the_examples_are_formatted_and_correct() -> None:
    files = ["social.pg", "social_v2.pg", "social.gq", "mistakes.gq"]
    checked = run("fmt", "--check", *(EXAMPLES / file for file in files))
    assert checked.exit_code == 0, checked.output
    for schema in ("social.pg", "social_v2.pg"):
        assert run("lint", "--schema", EXAMPLES / schema).exit_code == 0
