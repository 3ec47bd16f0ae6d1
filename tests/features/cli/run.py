"""Runs the command line for the tests: in this process, or as users do."""

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from omnigraph.cli.root import root

REPOSITORY = Path(__file__).resolve().parents[3]
EXAMPLES = REPOSITORY / "examples"
PROGRAM = Path(sys.executable).with_name("omnigraph")


def run(*arguments: object, stdin: str | bytes | None = None, env: dict[str, str] | None = None) -> Result:
    """Run in this process. Whatever happens, people must never see a traceback."""
    result = CliRunner().invoke(root, [str(argument) for argument in arguments], input=stdin, env=env)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def run_program(
    *arguments: str, cwd: Path = EXAMPLES, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the installed program in a process of its own."""
    environment = {**os.environ, **(env or {})}
    return subprocess.run(
        [str(PROGRAM), *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
