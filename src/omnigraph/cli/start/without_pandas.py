"""Refuses pandas to a process of the command line: Arrow imports it whenever it is installed, for a third of a second.

Arrow asks for pandas when it converts its first Python value, to recognise pandas objects. No command has any, unless
it starts Spark, which needs pandas itself. This is for programs only: in the process of an application, Arrow would
never recognise the application's pandas objects again (it asks once).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    # Bases that only name their methods, and whose module imports tempfile.
    Loader = MetaPathFinder = object

_NEEDS_PANDAS: Final = ("pyspark", "torch_geometric")


class _Refusing(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        raise ModuleNotFoundError("pandas is not imported by this command", name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Not reached: there is no module."""


class _Refusal(MetaPathFinder):
    """Finds pandas, so that questions whether it is installed are answered, and refuses to load it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _NEEDS_PANDAS:
            sys.meta_path.remove(self)
            return None
        if fullname != "pandas" or (found := PathFinder.find_spec(fullname, path)) is None:
            return None
        return ModuleSpec(fullname, _Refusing(), origin=found.origin)


def refuse_pandas() -> None:
    """Refuse pandas in this process until a library that needs it is imported."""
    if "pandas" not in sys.modules and not any(isinstance(finder, _Refusal) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Refusal())
