"""Files outside the graph that exports write, into a new directory or below a new prefix of an object store.

A file appears whole: a local file is renamed when it is complete, an object exists once its upload is completed. The
parts that a lost writer has sent form no object; the store's lifecycle rule for incomplete uploads removes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from omnigraph.errors import OmnigraphError
from omnigraph.storage.objects.backends import backend_at
from omnigraph.storage.objects.outside_files import unwritable


@dataclass(frozen=True, slots=True)
class TargetDirectory:
    """The directory of one export. Pickled to executors."""

    path: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def at(cls, path: str, options: Mapping[str, str]) -> TargetDirectory:
        """The directory at a path. Made absolute, because executors have another working directory."""
        return cls(backend_at(path).target_directory(path), options)

    def create(self, name: str, content: bytes) -> None:
        """Create the directory with one file; raises if it holds anything."""
        backend_at(self.path).create_directory(self.path, self.options, name, content)

    def below(self, name: str) -> TargetDirectory:
        """A directory in this one, which is created if it does not exist."""
        path = f"{self.path}/{name}".rstrip("/")
        backend_at(path).make_directory(path)
        return TargetDirectory(path, self.options)

    def writing(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A file that appears when the block ends without an error, replacing one of the same name."""
        return write_file(f"{self.path}/{name}", self.options)


@contextmanager
def write_file(path: str, options: Mapping[str, str]) -> Iterator[BinaryIO]:
    """A file that appears when the block ends without an error, replacing one of the same name."""
    try:
        with backend_at(path).write_file(path, options) as file:
            yield file
    except OmnigraphError:
        raise
    except OSError as error:
        raise unwritable(path, error.strerror or str(error)) from error
