"""The command line and environment of a Python program under test.

A sweep starts one interpreter per position, so its start-up is most of what a sweep costs. `python` therefore hides
pandas, which pyarrow imports when it is installed and which is two thirds of the time of `import lance`.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# Run with -c: the hidden packages look as if they were not installed, to an import and to whoever looks for them.
_BOOT = """
import importlib.machinery, runpy, sys
class Without(importlib.machinery.PathFinder):
    names = frozenset(sys.argv[1].split(","))
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in cls.names else super().find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = Without
del sys.argv[:2]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

_REPOSITORY = Path(__file__).resolve().parents[3]


def python(script: Path | str, *arguments: object, without: tuple[str, ...] = ("pandas",)) -> list[str]:
    """The argv that runs a script in a fresh interpreter which cannot import the packages in `without`."""
    return [sys.executable, "-c", _BOOT, ",".join(without), str(script), *map(str, arguments)]


def script_of(argv: Sequence[str]) -> list[str]:
    """The script and its arguments in an argv made by `python`."""
    start = list(argv).index(_BOOT) + 2
    return list(argv[start:])


def environment(env: Mapping[str, str] | None) -> dict[str, str]:
    """The given environment (default: our own) in which the child can import `tests.support.faults`."""
    full = dict(os.environ if env is None else env)
    # At the end, so that a directory here never hides a library with the same name.
    full["PYTHONPATH"] = os.pathsep.join(filter(None, [full.get("PYTHONPATH"), str(_REPOSITORY)]))
    return full
