"""The entry points of the installed scripts.

Contains no command, and imports next to nothing: a command that the warm process runs needs no more.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Final, NoReturn

from omnigraph.cli.start.run import run_command

GARBAGE_OBJECTS: Final = 50_000
"""New objects between two collections. A command makes mostly classes and functions, which are no garbage: with
Python's 700, collecting takes a tenth of its start."""

WARM: Final = "OMNIGRAPH_WARM"


def program() -> NoReturn:
    """The process of the script ``omnigraph``: the command runs here, or in the warm process if that is switched on."""
    gc.set_threshold(GARBAGE_OBJECTS)
    if os.environ.get(WARM, "0") not in ("", "0"):
        from omnigraph.cli.start.warm_client import run_warm

        status = run_warm(sys.argv)
        if status is not None:
            os._exit(status)
    from omnigraph.cli.start.leave import leave
    from omnigraph.cli.start.without_pandas import refuse_pandas

    refuse_pandas()
    leave(main())


def server() -> int:
    """``omnigraph-server``: the command ``serve`` under the name that Omnigraph 0.10 has for it."""
    sys.argv[1:1] = ["serve"]
    return main()


def main() -> int:
    """Run the command line of this process and return its exit code."""
    return run_command()
