"""`docs/user/served-agent.md` leads from an empty folder to an agent on a served graph: every block of it is run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.features.cli.run import REPOSITORY
from tests.features.cli.test_documentation import _steady as steady

pytest.importorskip("mcp")

PAGE = (REPOSITORY / "docs" / "user" / "served-agent.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(bash|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
MARK = "=== step ==="


def steps() -> Iterator[tuple[str, str | None]]:
    """Commands and what they show; blocks without a prompt show nothing that is compared."""
    for kind, block in BLOCK.findall(PAGE):
        if kind == "bash":
            yield block, None
        else:
            yield from STEP.findall(block)


def _kill(group: int) -> bool:
    """End what is left of a group of processes; False if nothing is."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def test_every_command_of_the_page_happens_as_shown(tmp_path: Path) -> None:
    place = tmp_path / "empty"
    (tmp_path / "home").mkdir()
    place.mkdir()
    programs = Path(sys.executable).parent
    environment = {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "OMNIGRAPH_BIND": "127.0.0.1:0",
        "PYTHONDONTWRITEBYTECODE": "",
    }
    script = "".join(f"{command}\necho '{MARK}'\n" for command, _ in steps())
    # A session of its own, so that a server that is left over ends with it.
    shell = subprocess.Popen(
        ["bash"],
        cwd=place,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        shown, _ = shell.communicate(script, timeout=600)
    finally:
        is_left_over = _kill(shell.pid)
    assert not is_left_over, "the page stops what it has started"
    found = [part.strip() for part in shown.split(MARK)]
    assert len(found) == len(list(steps())) + 1, shown
    for (command, expected), output in zip(steps(), found, strict=False):
        if expected is not None:
            assert steady(output, place) == steady(expected.strip(), place), command


def test_the_page_is_linked_from_the_start() -> None:
    for page in ("README.md", "docs/README.md", "docs/user/mcp.md", "docs/user/server.md", "docs/user/cluster.md"):
        assert "served-agent.md" in (REPOSITORY / page).read_text(encoding="utf-8"), page
