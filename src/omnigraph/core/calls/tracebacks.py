"""Short tracebacks for notebooks: the frames of the caller's own code, then the error in one line and its hint.

An error of the tree is about the input, so the frames inside the package tell its reader nothing.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.errors import OmnigraphError

_PACKAGE = os.path.dirname(os.path.abspath(sys.modules["omnigraph"].__file__ or "")) + os.sep
_SHELL = f"{os.sep}IPython{os.sep}core{os.sep}"


def short_traceback(error: OmnigraphError) -> list[str]:
    """The lines of a traceback without frames of this package and of IPython."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_PACKAGE) and _SHELL not in frame.filename]
    lines = ["Traceback (most recent call last):"] if own else []
    for frame in own:
        lines.append(f"  {_place(frame)}, in {frame.name}" if frame.name != "<module>" else f"  {_place(frame)}")
        lines += [f"    {frame.line}"] if frame.line else []
    return [*lines, f"{type(error).__name__} ({error.code}): {error}"]


def _place(frame: traceback.FrameSummary) -> str:
    """``Cell In[3], line 1``, or the file of any other code."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = None if shell is None else shell.compile.format_code_name(frame.filename)
    where = f'File "{frame.filename}"' if named is None else " ".join(named)
    return f"{where}, line {frame.lineno}"
