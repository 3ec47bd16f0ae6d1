"""Options of a load, declared once for every way to start one: Python, Spark, the command line.

Imported together with ``Graph``, so what only a load needs is imported in the methods.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from enum import Enum
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from omnigraph.core.actors import Caller, actor_id
from omnigraph.core.calls.arguments import Arguments
from omnigraph.core.classes.dataclass import dataclass
from omnigraph.engine.engine_choice import EMBEDDED
from omnigraph.errors import Hint, UsageError
from omnigraph.manifest.layout import MAIN
from omnigraph.write.context import WriteOptions
from omnigraph.write.load.mode import LoadMode

if TYPE_CHECKING:
    from omnigraph.ingest.columns import ColumnOptions


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options of a load. Those of the last group need Spark."""

    mode: str | LoadMode = LoadMode.UPSERT
    """Existing ids: ``upsert`` sets the named properties, ``update`` too but inserts nothing, ``merge`` replaces the
    entity, ``append`` refuses it, ``overwrite`` replaces the whole type."""
    _: KW_ONLY
    branch: str = MAIN
    """The branch to load into."""
    base: str | None = None
    """A branch that the load forks first if ``branch`` does not exist."""
    actor: Caller = None
    """The author of the commit."""
    message: str | None = None
    """The message of the commit."""
    idempotency_key: str | None = None
    """A load with the key of an earlier one returns its commit and writes nothing."""
    provenance: Mapping[str, str] | None = None
    """Keys and values that the commit records, such as a run or a source."""
    type_name: str | None = None
    """The type of rows that do not name one."""
    format: str | None = None
    """The format of the files: ``csv``, ``tsv``, ``parquet``, ``json``, ``jsonl``, ``lenient`` or ``arrow``; by
    default their names decide."""
    map: Mapping[str, str] | None = None
    """Property to column, where the names differ: ``{"name": "full_name"}``, or with the type, ``"Person.name"``."""
    ignore: Sequence[str] = ()
    """Columns to leave out."""
    constant: Mapping[str, object] | None = None
    """Property to a value that every row gets."""
    source_options: Mapping[str, str] | None = None
    """Options of the object store that holds the input; by default those of the graph."""
    progress: Callable[..., None] | None = None
    """Called with the number of rows read so far; by Spark with the stage, its tasks and the rows written."""
    stats: bool = False
    """Measure every step into ``result.operators``."""

    mapping: Mapping[str, Any] | None = None
    """The mapping from columns of tables to entities."""
    reject_to: str | os.PathLike[str] | None = None
    """A new file for invalid rows; the valid ones are loaded."""

    engine: str = EMBEDDED
    """The engine of ``graph.load``: ``embedded``, ``spark``, or ``auto`` for a choice by the size of the input."""
    spark: Any = None
    """A Spark session; by default one of this machine."""
    partitions: int | None = None
    """The approximate number of slices that the input is cut into."""
    checks: str | Enum = "auto"
    """The place of the checks over several rows: ``driver``, ``cluster`` or ``auto``."""
    resume: bool = False
    """Continue the same load after it was killed."""

    def parsed_mode(self) -> LoadMode:
        """The mode; raises UsageError for an unknown name."""
        try:
            return LoadMode(self.mode)
        except ValueError:
            modes = ", ".join(known.value for known in LoadMode)
            raise UsageError(f"{self.mode!r} is not a load mode", hint=f"the modes are {modes}") from None

    def columns(self) -> ColumnOptions:
        """The options about columns; raises UsageError for a value of the wrong kind."""
        for name, given in (("map", self.map), ("constant", self.constant)):
            if given is not None and not isinstance(given, Mapping):
                raise UsageError(
                    f"{name} must be a dict of properties, got {given!r}", hint=f'like {name}={{"name": ...}}'
                )
        ignored = (self.ignore,) if isinstance(self.ignore, str) else tuple(self.ignore)
        from omnigraph.ingest.columns import ColumnOptions

        return ColumnOptions(self.map or {}, ignored, self.constant or {})

    def named_sources(self, data: object) -> Mapping[str, Any]:
        """The sources of a mapping by name; raises UsageError for options that a mapping replaces."""
        for name in ("type_name", "format", "map", "ignore", "constant"):
            if getattr(self, name):
                raise UsageError(f"{name} has no effect with a mapping", hint="write it into the mapping", option=name)
        if data is not None and not isinstance(data, Mapping):
            raise UsageError("sources of a mapping must be named", hint='pass {"name": path or table}')
        return data or {}

    def write_options(self) -> WriteOptions:
        """The options that every write has."""
        return WriteOptions(actor_id(self.actor), self.message, self.idempotency_key, self.provenance or {})

    def refuse_spark_only(self) -> None:
        """Raise UsageError if an option was given that only Spark has."""
        defaults = LoadOptions()
        for name in SPARK_ONLY:
            if getattr(self, name) != getattr(defaults, name):
                raise UsageError(
                    f"{name} needs Spark",
                    hint=Hint("load with engine='spark', or graph.load_spark", "load with --engine spark"),
                )


SPARK_ONLY = ("spark", "partitions", "checks", "resume")

P = ParamSpec("P")
Subject = TypeVar("Subject")
Data = TypeVar("Data")
Options = TypeVar("Options")
Result = TypeVar("Result")


def takes(
    options: Callable[P, Options], *, needs_data: bool = True, unless: str | None = None
) -> Callable[[Callable[[Subject, Data, Options], Result]], Callable[Concatenate[Subject, Data, P], Result]]:
    """Let callers pass the fields of an options class as arguments, after the subject and the data.

    The signature that ``help`` and editors show lists the fields, so they are declared in one place only. Without
    ``needs_data`` the data may be left out; with ``unless``, only if that option is given.
    """
    fields = inspect.signature(options).parameters.values()

    def decorate(
        run: Callable[[Subject, Data, Options], Result],
    ) -> Callable[Concatenate[Subject, Data, P], Result]:
        shown = inspect.signature(run)
        subject_field, data_field, _ = shown.parameters.values()
        is_optional = not needs_data or unless is not None
        data_field = data_field.replace(default=None) if is_optional else data_field
        signature = shown.replace(parameters=[subject_field, data_field, *fields])

        arguments = Arguments(run, run.__name__, signature)

        @functools.wraps(run)
        def call(*args: Any, **kwargs: Any) -> Result:
            given = arguments.bind(args, kwargs)
            if needs_data and data_field.name not in given and given.get(unless or "") is None:
                raise arguments.missing(data_field.name)
            subject, data = given.pop(subject_field.name), given.pop(data_field.name, None)
            return run(subject, data, options(**given))  # type: ignore[call-arg] # bound to the fields above

        call.__signature__ = signature  # type: ignore[attr-defined] # functions carry attributes
        return cast("Callable[Concatenate[Subject, Data, P], Result]", call)

    return decorate
