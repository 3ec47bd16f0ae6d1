"""The entry point of the installed ``omnigraph`` script.

Holds no command: it imports the rest inside a ``try``, so that Ctrl-C during start-up is as quiet as later.
"""

from __future__ import annotations

import sys

from omnigraph.cli.exit_codes import INTERRUPTED, OK


def main() -> int:
    """Run the command line of this process and return its exit code."""
    try:
        for stream in (sys.stdout, sys.stderr):
            # A terminal that cannot show a character gets its escape instead of a crash in the middle of the output.
            if reconfigure := getattr(stream, "reconfigure", None):
                reconfigure(errors="backslashreplace")
        from omnigraph.cli.root import root

        root.main()
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else OK
