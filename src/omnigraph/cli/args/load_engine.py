"""Choice of the engine of a load, this process or Spark, and the input for either."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import click

from omnigraph.cli.args.data_files import STDIN, DataFile, load_input, typed_path
from omnigraph.engine.engine_choice import is_large


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """The input of a load, and its engine."""

    with_spark: bool
    data: Any
    mapping: Mapping[str, Any] | None = None
    watched: DataFile | None = None
    """The file whose bytes the progress shows."""


def plan_load(
    stack: ExitStack,
    engine: str,
    mapping_file: str | None,
    paths: Sequence[str],
    type_name: str | None,
    resume: bool,
    storage_options: Mapping[str, str],
) -> LoadPlan:
    """Read the mapping, find the files and choose the engine. Mistakes are reported before an engine starts."""
    if mapping_file is None:
        if not paths:
            raise click.UsageError("missing option '--data'")
        with_spark = chosen_engine(engine, paths, resume, storage_options) == "spark"
        if with_spark:
            return LoadPlan(with_spark, load_input(stack, paths, type_name, storage_options, with_spark=True)[0])
        data, watched = load_input(stack, paths, type_name, storage_options)
        return LoadPlan(with_spark, data, None, watched)
    from omnigraph.config.mapping_file import read_mapping

    named, mapping = _named(paths), read_mapping(mapping_file)
    from omnigraph.engine.load.choice import mapped_sources, source_paths

    sources = {**mapped_sources(mapping), **named}
    every = [path for source in sources.values() for path in source_paths(source)]
    with_spark = chosen_engine(engine, every, resume, storage_options) == "spark"
    data = {name: sys.stdin.buffer if path == STDIN else path for name, path in named.items()}
    return LoadPlan(with_spark, data, mapping)


def chosen_engine(
    engine: str,
    paths: Sequence[str],
    resume: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> str:
    """``embedded`` or ``spark``: by name, or by the size of the input; raises for options that exclude each other."""
    if resume and engine == "embedded":
        raise click.UsageError("--resume needs Spark; leave out --engine embedded")
    needs_spark = resume or engine == "spark"
    reads_stdin = any(typed_path(path)[1] == STDIN for path in paths)
    if needs_spark and reads_stdin:
        raise click.UsageError("standard input cannot be read by Spark; name a file")
    if needs_spark:
        return "spark"
    if engine != "auto":
        return "embedded"
    is_spark = not reads_stdin and is_large(_size(paths, storage_options or {}))
    return "spark" if is_spark else "embedded"


def _size(paths: Sequence[str], options: Mapping[str, str]) -> int:
    from omnigraph.engine.load.choice import input_bytes

    return input_bytes([typed_path(path)[1] for path in paths], options)


def _named(paths: Sequence[str]) -> dict[str, str]:
    """The sources of a mapping that the command line names."""
    parts = [path.partition("=") for path in paths]
    for name, sign, _ in parts:
        if not sign:
            raise click.UsageError(f"with --mapping, --data is NAME=FILE; {name!r} names no source")
    return {name: path for name, _, path in parts}
