"""The command line as a program that may kill itself at its first commit: `served_process.py <moment> ARGS...`.

A commit is the swap of a manifest, or the creation of the ref of a branch: the two ways in which a writer takes effect.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from omnigraph.cli.main import main
from omnigraph.manifest import replacement
from omnigraph.manifest.layout import REFS_PREFIX
from omnigraph.storage.objects.local import LocalObjects

MOMENTS = ("before", "after")
NEVER = "never"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(work: Callable[..., Any], moment: str) -> Callable[..., Any]:
    """The work of a commit, and the end of the process before it or after it."""

    def run(*arguments: Any, **options: Any) -> Any:
        if moment == "before":
            die()
        made = work(*arguments, **options)
        die()
        return made

    return run


def die_at(moment: str) -> None:
    """Kill this process at its first commit."""
    replacement.swap_manifest = dying(replacement.swap_manifest, moment)
    create = LocalObjects.create
    last = dying(create, moment)

    def create_or_die(self: LocalObjects, path: str, content: bytes) -> bool:
        return bool((last if path.startswith(REFS_PREFIX) else create)(self, path, content))

    LocalObjects.create = create_or_die  # type: ignore[method-assign] # of this process alone


if __name__ == "__main__":
    if sys.argv[1] in MOMENTS:
        die_at(sys.argv[1])
    del sys.argv[1]
    # The streams of the copied interpreter may have been files, where these are pipes.
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    sys.exit(main())
