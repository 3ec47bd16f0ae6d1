"""Choice of the engine of a load: by name, or by the bytes of the files that it reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from omnigraph.engine.engine_choice import BY_SPARK, EMBEDDED, check_engine, is_large
from omnigraph.engine.load_options import LoadOptions
from omnigraph.ingest.files.find import find_sources


def is_for_spark(data: object, options: LoadOptions, store_options: Mapping[str, str]) -> bool:
    """True if a load runs on Spark. ``store_options`` are those of the graph, where the load has none of its own."""
    engine = check_engine(options.engine)
    if engine == EMBEDDED:
        return False
    if engine == BY_SPARK or options.resume:
        return True
    found = options.source_options if options.source_options is not None else store_options
    sources = {**mapped_sources(options.mapping or {}), **(data if isinstance(data, Mapping) else {"": data})}
    return is_large(input_bytes([path for source in sources.values() for path in source_paths(source)], found))


def input_bytes(paths: Sequence[str], options: Mapping[str, str]) -> int:
    """The bytes of the files behind paths, patterns, directories and addresses."""
    return sum(file.size for path in paths for file in find_sources(path, options))


def mapped_sources(mapping: Mapping[str, object]) -> Mapping[str, object]:
    """The sources that a mapping names; none for an invalid one, which is reported when the mapping is checked."""
    sources = mapping.get("sources")
    return sources if isinstance(sources, Mapping) else {}


def source_paths(source: object) -> Iterator[str]:
    """The paths of a source: a path, a list of them, or the specification of a mapping. Data in memory has none."""
    match source:
        case str() | os.PathLike():
            yield os.fspath(source)
        case list() | tuple():
            yield from (os.fspath(item) for item in source if isinstance(item, str | os.PathLike))
        case {"path": path}:
            yield from source_paths(path)
