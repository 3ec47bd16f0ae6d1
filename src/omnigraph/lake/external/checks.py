"""The files of a seal compared with those that are there, without reading them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from omnigraph.errors import NotFoundError, OmnigraphError
from omnigraph.lake.external.seal import Seal, SealedFile
from omnigraph.storage.objects.source_files import find_files

LOOK_THREADS: Final = 16
"""Files looked at concurrently: each takes one request in an object store."""


def unreadable_files(seal: Seal, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The files that are missing or not as they were sealed, each with the reason."""

    def look(file: SealedFile) -> tuple[str, str] | None:
        sealed = seal.source_file(file, options)
        try:
            [found] = find_files(sealed.address, sealed.options)
        except NotFoundError:
            return sealed.address, "is missing"
        except OmnigraphError as error:
            return sealed.address, f"cannot be looked at: {error.message}"
        if found.size != sealed.size:
            return sealed.address, f"has {found.size} bytes, not the {sealed.size} that were sealed"
        if found.stamp != sealed.stamp:
            return sealed.address, "was written again after it was sealed"
        return None

    with ThreadPoolExecutor(LOOK_THREADS) as pool:
        yield from (problem for problem in pool.map(look, seal.files) if problem is not None)
