"""The file with the inputs of earlier sessions, in the user's state directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def history_path(environment: Mapping[str, str]) -> Path:
    """The path by the rules of XDG: ``XDG_STATE_HOME``, otherwise ``~/.local/state``."""
    home = environment.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(home) / "omnigraph" / "shell_history"


def usable_history(path: Path) -> Path | None:
    """The path of a file that can be appended to, created if missing and readable by its owner only."""
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
        return path
    return None
