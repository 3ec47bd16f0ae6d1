"""Files of Iceberg tables, read and written through our clients of object stores.

The library has clients of its own; with ours a table needs no second set of credentials and options.
"""

from __future__ import annotations

import io
from collections.abc import Mapping

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream

from omnigraph.errors import NotFoundError
from omnigraph.storage.objects.backends import open_objects, parse_root
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.protocol import Objects


class LakeFiles(FileIO):
    """Files at any address that we can open."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__({})
        self._options = options

    def new_input(self, location: str) -> LakeFile:
        return LakeFile(location, self._options)

    def new_output(self, location: str) -> LakeFile:
        return LakeFile(location, self._options)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        place = location if isinstance(location, str) else location.location
        file = LakeFile(place, self._options)
        file.objects.delete(file.name)


class LakeFile(InputFile, OutputFile):
    """One file: metadata, a manifest or a list of manifests. All are small, so they are read and written whole."""

    def __init__(self, location: str, options: Mapping[str, str]) -> None:
        super().__init__(location)
        directory, _, self.name = plain_address(location).rpartition("/")
        self.objects: Objects = open_objects(parse_root(directory), options, Durability.OS)

    def __len__(self) -> int:
        size = self.objects.size(self.name)
        if size is None:
            raise self._missing()
        return size

    def exists(self) -> bool:
        return self.objects.size(self.name) is not None

    def open(self, seekable: bool = True) -> InputStream:
        content = self.objects.read(self.name)
        if content is None:
            raise self._missing()
        return io.BytesIO(content)

    def to_input_file(self) -> LakeFile:
        return self

    def create(self, overwrite: bool = False) -> OutputStream:
        return _Output(self)

    def _missing(self) -> NotFoundError:
        return NotFoundError(f"there is no file {self.location!r}", path=self.location)


class _Output(io.BytesIO):
    """The content of a file, which appears when the stream is closed.

    The library closes after a failure too. The incomplete file is then one that nothing refers to.
    """

    def __init__(self, file: LakeFile) -> None:
        super().__init__()
        self._file = file

    def close(self) -> None:
        if not self.closed:
            self._file.objects.replace(self._file.name, self.getvalue())
        super().close()


def plain_address(location: str) -> str:
    """An address as we write it: Hadoop writes local files with one slash, ``file:/data``."""
    return "/" + location.removeprefix("file:").lstrip("/") if location.startswith("file:/") else location
