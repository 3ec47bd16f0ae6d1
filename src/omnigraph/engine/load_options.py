"""Options of a load, declared once for every way to start one: Python, Spark, the command line."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from omnigraph.errors import UsageError
from omnigraph.manifest.layout import MAIN
from omnigraph.write.context import WriteOptions
from omnigraph.write.load.mode import LoadMode


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options of a load. Those of the last group need Spark."""

    mode: str | LoadMode = LoadMode.MERGE
    """Existing ids: ``append`` refuses them, ``merge`` replaces the entity, ``overwrite`` replaces the whole type."""
    _: KW_ONLY
    branch: str = MAIN
    """The branch to load into."""
    base: str | None = None
    """A branch that the load forks first if ``branch`` does not exist."""
    actor: str | None = None
    """The author of the commit."""
    message: str | None = None
    """The message of the commit."""
    idempotency_key: str | None = None
    """A load with the key of an earlier one returns its commit and writes nothing."""
    provenance: Mapping[str, str] | None = None
    """Keys and values that the commit records, such as a run or a source."""
    type_name: str | None = None
    """The type of rows that do not name one."""
    source_options: Mapping[str, str] | None = None
    """Options of the object store that holds the input; by default those of the graph."""
    progress: Callable[..., None] | None = None
    """Called with the number of rows read so far; by Spark with the stage, its tasks and the rows written."""
    stats: bool = False
    """Measure every step into ``result.operators``."""

    spark: Any = None
    """A Spark session; by default one of this machine."""
    mapping: Mapping[str, Any] | None = None
    """The mapping from columns of tables to entities."""
    partitions: int | None = None
    """The approximate number of slices that the input is cut into."""
    checks: str | Enum = "auto"
    """The place of the checks over several rows: ``driver``, ``cluster`` or ``auto``."""
    reject_to: str | os.PathLike[str] | None = None
    """A new file for invalid rows; the valid ones are loaded."""
    resume: bool = False
    """Continue the same load after it was killed."""

    def parsed_mode(self) -> LoadMode:
        """The mode; raises UsageError for an unknown name."""
        try:
            return LoadMode(self.mode)
        except ValueError:
            modes = ", ".join(known.value for known in LoadMode)
            raise UsageError(f"{self.mode!r} is not a load mode", hint=f"the modes are {modes}") from None

    def write_options(self) -> WriteOptions:
        """The options that every write has."""
        return WriteOptions(self.actor, self.message, self.idempotency_key, self.provenance or {})

    def refuse_spark_only(self) -> None:
        """Raise UsageError if an option was given that only Spark has."""
        defaults = LoadOptions()
        for name in SPARK_ONLY:
            if getattr(self, name) != getattr(defaults, name):
                raise UsageError(f"{name} needs Spark", hint="load with graph.load_spark or omnigraph.spark.load")


SPARK_ONLY = ("spark", "mapping", "partitions", "checks", "reject_to", "resume")

P = ParamSpec("P")
Subject = TypeVar("Subject")
Data = TypeVar("Data")
Options = TypeVar("Options")
Result = TypeVar("Result")


def takes(
    options: Callable[P, Options], *, needs_data: bool = True
) -> Callable[[Callable[[Subject, Data, Options], Result]], Callable[Concatenate[Subject, Data, P], Result]]:
    """Let callers pass the fields of an options class as arguments, after the subject and the data.

    The signature that ``help`` and editors show lists the fields, so they are declared in one place only. Without
    ``needs_data`` the data may be left out, for callers whose options name it.
    """
    fields = inspect.signature(options).parameters.values()

    def decorate(
        run: Callable[[Subject, Data, Options], Result],
    ) -> Callable[Concatenate[Subject, Data, P], Result]:
        shown = inspect.signature(run)
        subject_field, data_field, _ = shown.parameters.values()
        data_field = data_field if needs_data else data_field.replace(default=None)
        signature = shown.replace(parameters=[subject_field, data_field, *fields])

        @functools.wraps(run)
        def call(*args: Any, **kwargs: Any) -> Result:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError as error:
                raise TypeError(f"{run.__name__}() {error}") from None
            subject, data = given.pop(subject_field.name), given.pop(data_field.name, None)
            return run(subject, data, options(**given))  # type: ignore[call-arg] # bound to the fields above

        call.__signature__ = signature  # type: ignore[attr-defined] # functions carry attributes
        return cast("Callable[Concatenate[Subject, Data, P], Result]", call)

    return decorate
