"""The entry point of the installed ``omnigraph`` script.

Contains no command: the rest is imported inside a ``try``, so that Ctrl-C during start-up prints no traceback.
"""

from __future__ import annotations

import sys

from omnigraph.cli.exit_codes import INTERRUPTED, OK


def server() -> int:
    """``omnigraph-server``: the command ``serve`` under the name that Omnigraph 0.10 has for it."""
    sys.argv[1:1] = ["serve"]
    return main()


def main() -> int:
    """Run the command line of this process and return its exit code."""
    try:
        for stream in (sys.stdout, sys.stderr):
            # Characters outside the terminal's encoding are escaped: an encoding error would cut off the output.
            if reconfigure := getattr(stream, "reconfigure", None):
                reconfigure(errors="backslashreplace")
        from omnigraph.cli.root import root

        root.main()
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else OK
