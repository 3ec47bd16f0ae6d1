"""The exit codes of ``omnigraph``: a promise to scripts, explained in ``docs/user/cli.md``."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FAILED: Final = 1
"""Findings of severity error, or any error of ours."""
USAGE: Final = 2
"""The command line itself makes no sense."""
PRECONDITION_LOST: Final = 4
"""The branch is no longer at the commit that the caller named: read again and decide again."""
INTERRUPTED: Final = 130
"""Ctrl-C, as shells report it."""
