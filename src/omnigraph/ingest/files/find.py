"""Data files behind the names that a user gives: paths, patterns, directories, addresses in an object store.

A directory stands for the data files below it. Each of them belongs to the type that the first name below the directory
gives: ``data/Person.csv``, ``data/Person/part-1.parquet``.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import Hint, NotFoundError, UsageError
from omnigraph.ingest.files.content import COMPRESSIONS
from omnigraph.ingest.files.formats import SUFFIXES, stem
from omnigraph.rows.violations import shown
from omnigraph.storage.objects.outside_files import SourceFile, unreadable
from omnigraph.storage.objects.source_files import PATTERN, find_files, find_matching
from omnigraph.storage.objects.uri import is_remote

DATA_ENDINGS = (*SUFFIXES, *(f"{suffix}{packed}" for suffix in SUFFIXES for packed in COMPRESSIONS))
"""Name endings of the files that are read below a directory."""

_PROGRAMS = {
    ".pg": (
        "a schema",
        Hint(
            "use it with omnigraph.create, or graph.apply_schema: pathlib.Path(...)",
            "use it with omnigraph init --schema, or omnigraph schema apply",
        ),
    ),
    ".gq": ("a query", Hint("use its text with graph.query", "use it with omnigraph query")),
}


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to read."""

    source: str | SourceFile
    """A local path, or a file in an object store."""
    type_hint: str | None = None
    """The name that a directory gives its type, if it was found in one."""

    @property
    def name(self) -> str:
        return self.source.path if isinstance(self.source, SourceFile) else self.source

    @property
    def size(self) -> int:
        """Bytes; 0 for what is no regular file."""
        return self.source.size if isinstance(self.source, SourceFile) else os.path.getsize(self.source)


def find_sources(path: str | os.PathLike[str], options: Mapping[str, str]) -> list[FoundFile]:
    """The files behind a path, a pattern, a directory or an address, in the order of their names."""
    text = os.fspath(path)
    _refuse_content(text)
    _refuse_programs(text)
    if is_remote(text):
        return _remote(text, options)
    text = text.removeprefix("file://")
    if os.path.isdir(text):
        return _below(text)
    if os.path.exists(text) or not PATTERN.search(text):
        return [_readable(text)]
    found = [name for name in sorted(glob.glob(text, recursive=True)) if os.path.isfile(name)]
    if not found:
        raise NotFoundError(f"no file matches {text!r}", hint=_nearby(text), path=text)
    return [FoundFile(name) for name in found]


def _refuse_content(text: str) -> None:
    if "\n" in text or text.lstrip().startswith(_JSON_STARTS):
        raise UsageError(
            f"a text is the name of a file, not its content: {shown(text)}",
            hint="pass the content as an open file: graph.load(io.StringIO(text), format=...)",
        )


_JSON_STARTS = ('{"', '[{"', "[{'")


def _refuse_programs(path: str) -> None:
    kind, hint = _PROGRAMS.get(os.path.splitext(path)[1].lower(), (None, None))
    if kind is not None:
        raise UsageError(f"{path!r} is {kind}, not data", hint=hint, path=path)


def _readable(path: str) -> FoundFile:
    try:
        os.stat(path)
    except OSError as error:
        problem = unreadable(path, error)
        problem.advise(_nearby(path))
        raise problem from error
    return FoundFile(path)


def _nearby(path: str) -> str | None:
    """The data files in the directory of a path that was not found."""
    directory = os.path.dirname(path) or "."
    if not os.path.isdir(directory):
        return f"there is no directory {directory!r}"
    names = sorted(name for name in os.listdir(directory) if name.lower().endswith(DATA_ENDINGS))
    if not names:
        return f"there are no data files in {directory!r}"
    shown = ", ".join(names[:_SHOWN_MAX]) + (", ..." if len(names) > _SHOWN_MAX else "")
    near = did_you_mean(os.path.basename(path), names)
    return f"{near or ''} the data files in {directory!r} are {shown}".strip()


_SHOWN_MAX = 8
_ENDINGS_HINT = f"the names of data files end in {', '.join(SUFFIXES)}, also with {', '.join(COMPRESSIONS)} behind it"


def _below(directory: str) -> list[FoundFile]:
    found = []
    for parent, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if not _is_hidden(name))
        for name in names:
            path = os.path.join(parent, name)
            if name.lower().endswith(DATA_ENDINGS) and not _is_hidden(name):
                found.append(FoundFile(path, _first_name(os.path.relpath(path, directory).replace(os.sep, "/"))))
    if not found:
        raise NotFoundError(f"the directory {directory!r} holds no data files", hint=_ENDINGS_HINT, path=directory)
    return sorted(found, key=lambda file: file.name)


def _is_hidden(name: str) -> bool:
    """True for the names of markers, logs and unfinished files: ``_SUCCESS``, ``.part.crc``."""
    return name.startswith(("_", "."))


def _first_name(relative: str) -> str:
    return stem(relative.partition("/")[0])


def _remote(address: str, options: Mapping[str, str]) -> list[FoundFile]:
    if not PATTERN.search(address):
        files = find_files(address, options, DATA_ENDINGS)
        # ``scheme://bucket`` has two slashes.
        is_directory = address.endswith("/") or address.count("/") == 2
        return [FoundFile(file, _hint_below(file.path, address) if is_directory else None) for file in files]
    found = [FoundFile(file) for file in find_matching(address, options)]
    if not found:
        raise NotFoundError(f"no file matches {address!r}", hint="check what is below its prefix", path=address)
    return found


def _hint_below(path: str, address: str) -> str:
    return _first_name(path.removeprefix(address).lstrip("/"))
