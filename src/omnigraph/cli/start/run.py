"""Runs the command line of a process: in the process that was called, or in a copy of the warm process."""

from __future__ import annotations

import sys

from omnigraph.cli.exit_codes import INTERRUPTED, OK


def run_command() -> int:
    """Run the command that ``sys.argv`` names and return its exit code."""
    try:
        for stream in (sys.stdout, sys.stderr):
            # Characters outside the terminal's encoding are escaped: an encoding error would cut off the output.
            if reconfigure := getattr(stream, "reconfigure", None):
                reconfigure(errors="backslashreplace")
        # Inside the ``try``, so that Ctrl-C during the imports prints no traceback.
        from omnigraph.cli.root import root

        root.main()
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else OK
