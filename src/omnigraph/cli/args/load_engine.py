"""Choice of the engine of a load, this process or Spark, and the input for Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from omnigraph.cli.args.data_files import STDIN
from omnigraph.engine.engine_choice import is_large
from omnigraph.errors import InputError
from omnigraph.storage.objects.source_files import find_files
from omnigraph.storage.objects.uri import is_remote


def chosen_engine(
    engine: str,
    mapping: str | None,
    paths: Sequence[str],
    only_spark: Sequence[str] = (),
    storage_options: Mapping[str, str] | None = None,
) -> str:
    """``embedded`` or ``spark``; raises for options that exclude each other.

    ``only_spark`` lists the given options that only Spark supports.
    """
    if mapping is None and not paths:
        raise click.UsageError("missing option '--data'")
    if mapping is not None and engine == "embedded":
        raise click.UsageError("--mapping needs Spark; leave out --engine embedded")
    if only_spark and engine == "embedded":
        raise click.UsageError(f"{only_spark[0]} needs Spark; leave out --engine embedded")
    needs_spark = ["--mapping"] * (mapping is not None) + ["--engine spark"] * (engine == "spark") + [*only_spark]
    if mapping is not None:
        return "spark"
    if needs_spark and STDIN in paths:
        raise click.UsageError("standard input cannot be read by Spark; name a file")
    if needs_spark:
        return "spark"
    if engine != "auto":
        return "embedded"
    is_spark = STDIN not in paths and is_large(_size(paths, storage_options or {}))
    return "spark" if is_spark else "embedded"


def _size(paths: Sequence[str], options: Mapping[str, str]) -> int:
    remote = (file.size for path in paths if is_remote(path) for file in find_files(path, options))
    return sum(os.path.getsize(path) for path in paths if os.path.isfile(path)) + sum(remote)


def spark_sources(mapping: str | None, paths: Sequence[str]) -> tuple[Any, dict[str, Any] | None]:
    """Sources and mapping as ``graph.load_spark`` takes them."""
    if mapping is None:
        for path in paths:
            if not is_remote(path) and not os.path.isfile(path):
                raise InputError(f"cannot read {click.format_filename(path)}: no such file", path=path)
        return list(paths), None
    from omnigraph.config.mapping_file import read_mapping

    named = [path.partition("=") for path in paths]
    for name, sign, _ in named:
        if not sign:
            raise click.UsageError(f"with --mapping, --data is NAME=FILE; {name!r} names no source")
    return {name: path for name, _, path in named}, read_mapping(mapping)
