"""The exit codes of ``omnigraph``: a stable interface for scripts, documented in ``docs/user/cli.md``."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FAILED: Final = 1
"""Findings of severity error, or any error of the tree in ``omnigraph.errors``."""
USAGE: Final = 2
"""An invalid command line."""
PRECONDITION_LOST: Final = 4
"""The branch head is not the expected commit: read again and retry."""
INTERRUPTED: Final = 130
"""Ctrl-C, as shells report it."""
BROKEN_PIPE: Final = 141
"""The reader of the output closed its end, such as `head`; as shells report SIGPIPE."""
