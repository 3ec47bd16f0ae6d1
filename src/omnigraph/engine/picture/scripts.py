"""The modules of the drawing as one script: a document in a notebook cannot load files.

Each module becomes a function, so that names of two modules do not meet. Only the forms of import and export that our
modules use are known: ``import { a, b } from "./c.js";`` on one line, and ``export`` before a declaration.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from importlib.resources import files
from typing import Final

WEB: Final = files("omnigraph.engine.picture").joinpath("web")
"""The files of the drawing. The page of the server serves the folder ``drawing``."""

_IMPORT: Final = re.compile(r'^import \{ ([^}]+) \} from "(\.[^"]+)";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_NOTE: Final = re.compile(r"^\s*/\*\*(?:[^*]|\*(?!/))*\*/\s*\n", re.MULTILINE)


@cache
def file_text(name: str) -> str:
    """The text of a file of the drawing."""
    return WEB.joinpath(name).read_text(encoding="utf-8")


@cache
def script(main: str) -> str:
    """One script that does what a module and those below it do."""
    parts: dict[str, str] = {}
    _add(main, parts)
    return "".join(parts.values())


def _add(name: str, parts: dict[str, str]) -> None:
    """Add a module behind the modules that it imports."""
    if name in parts:
        return
    text = _NOTE.sub("", file_text(name))
    folder = posixpath.dirname(name)
    for found in _IMPORT.finditer(text):
        _add(posixpath.normpath(posixpath.join(folder, found[2])), parts)
    body = _IMPORT.sub(lambda found: f"const {{ {found[1]} }} = {_variable(posixpath.join(folder, found[2]))};", text)
    names = [found[1] for found in _EXPORT.finditer(body)]
    parts[name] = (
        f"const {_variable(name)} = (() => {{\n{_EXPORT.sub('', body)}return {{ {', '.join(names)} }};\n}})();\n"
    )


def _variable(name: str) -> str:
    return "$" + re.sub(r"\W", "_", posixpath.normpath(name))
