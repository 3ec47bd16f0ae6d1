"""Every error Omnigraph raises, as one tree.

    OmnigraphError
    ├── InputError                the caller's input is wrong; nothing was changed
    │   ├── CompileError          a .pg or .gq text, or a condition, does not parse or check (carries diagnostics)
    │   ├── ParameterError        query parameters do not fit their declaration
    │   ├── MigrationRefused      a schema change that cannot be planned or made
    │   ├── ViolationError        entities that break the schema's constraints (counted and sampled)
    │   ├── BlobRangeError        bytes that a blob does not have
    │   ├── CursorRejected        a cursor that was not made for what it is used for
    │   └── UsageError            an argument or combination of arguments makes no sense
    ├── NotFoundError             a name, file, branch, commit or query that does not exist
    │   └── HistoryCleaned        a commit that cleanup has given up: it is listed, and cannot be read
    ├── ChangeFeedGap             changes that can no longer be told, because history was cleaned up
    ├── ConflictError             two changes that cannot both stand; nothing was changed
    │   ├── AlreadyExistsError    the name to be created is taken
    │   ├── KeyConflictError      an id that is already there, or twice in the input
    │   ├── ReadSetConflict       what an update or delete was decided from has changed meanwhile (retryable)
    │   ├── MergeConflicts        branches that cannot be merged as they are (carries every conflict)
    │   ├── SchemaConflict        branches whose schemas cannot be merged
    │   ├── PreconditionFailed    the branch head is not the commit the caller named
    │   ├── ContentionError       too many others published first (retryable)
    │   └── WriteExpired          a load that cleanup overtook, so that its files may be gone (retryable)
    ├── LimitExceeded             a query needs more time or memory than it may use
    ├── QueryCancelled            the caller no longer wants the answer
    ├── EmbeddingError            a text could not be turned into a vector
    │   └── EmbeddingUnavailable  the provider did not answer, or not in time (retryable)
    ├── SparkError                a job on the cluster failed for a reason of the cluster's; nothing was changed
    │   └── SparkUnavailable      no Java, no pyspark, or a session that lacks what we need
    ├── StorageError              the store cannot be used as it is
    │   ├── NotAGraphError        nothing here, or something that is no graph
    │   ├── FormatError           a graph of another format
    │   └── CorruptionError       a file that a commit needs is missing or damaged
    └── OutcomeUnknown            the answer of the store was lost: ask by commit id

An error has a stable ``code`` for programs, a text for people (what is wrong, what was expected, what to do
next), ``facts`` with the values the text names, and ``retryable``: whether the same call may succeed later.
This module holds no text about particular situations; whoever raises knows the situation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol


class LocatedMessage(Protocol):
    """What an error needs to know of a compiler diagnostic."""

    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    def render(self) -> str: ...


class OmnigraphError(Exception):
    """Root of the tree: catch this to catch everything Omnigraph raises on purpose."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | None = None, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts: Mapping[str, object] = facts

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # The inherited way calls the class with the message alone, which most of ours do not accept.
        return _revive, (type(self), self.args, self.__dict__)


def _revive(error_type: type[OmnigraphError], args: tuple[object, ...], state: dict[str, object]) -> OmnigraphError:
    """An error as it was in the process that raised it."""
    error = error_type.__new__(error_type, *args)
    error.__dict__.update(state)
    return error


class InputError(OmnigraphError):
    """The input is wrong; nothing was changed."""

    code = "bad_request"


class CompileError(InputError):
    """A schema or query text, or a condition of a Spark frame, that does not parse or check."""

    code = "compile_error"

    def __init__(self, diagnostics: Sequence[LocatedMessage]) -> None:
        super().__init__("\n".join(diagnostic.render() for diagnostic in diagnostics))
        self.diagnostics = tuple(diagnostics)


class ParameterError(InputError):
    """A query parameter is missing or has the wrong type."""

    code = "bad_parameter"


class MigrationRefused(InputError):
    """A schema change that cannot be planned, such as a rename hint that names nothing, or that no step can make."""

    code = "migration_refused"


class BlobRangeError(InputError):
    """A range that is not within the blob: ``start``, ``end`` and the blob's ``length`` are facts."""

    code = "blob_range"


class CursorRejected(InputError):
    """A cursor of another graph, branch or filter, or a text that is none."""

    code = "cursor_rejected"


class UsageError(InputError):
    """Arguments that make no sense together."""

    code = "usage"


class NotFoundError(OmnigraphError):
    """A name that does not exist."""

    code = "not_found"


class HistoryCleaned(NotFoundError):
    """A commit that cleanup has given up. Its record stays; its state can no longer be read."""

    code = "history_cleaned"


class ChangeFeedGap(OmnigraphError):
    """Changes after a cursor can no longer be told: ``first_unreadable_commit_id`` names where. A baseline helps."""

    code = "change_feed_gap"


class ViolationError(InputError):
    """Entities that break constraints. ``samples`` shows some, ``counts`` says how many there are of each kind."""

    code = "violation"

    def __init__(
        self, message: str, *, total: int, samples: Sequence[object], counts: Mapping[str, int], hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint, total=total)
        self.total = total
        self.samples = tuple(samples)
        self.counts = dict(counts)


class ConflictError(OmnigraphError):
    """Two changes that cannot both stand; this one was not made."""

    code = "conflict"


class AlreadyExistsError(ConflictError):
    """The name is taken."""

    code = "already_exists"


class KeyConflictError(ConflictError):
    """An id that exists already, or twice in one input."""

    code = "key_conflict"


class ReadSetConflict(ConflictError):
    """What the write was decided from has changed; read again and decide again."""

    code = "read_set_conflict"
    retryable = True


class MergeConflicts(ConflictError):
    """Changes of two branches that cannot both stand. ``conflicts`` are all of them; ``table`` is the same as Arrow."""

    code = "merge_conflicts"

    def __init__(self, message: str, *, conflicts: Sequence[object], table: object, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, total=len(conflicts))
        self.conflicts = tuple(conflicts)
        self.table = table


class SchemaConflict(ConflictError):
    """Two schemas that cannot be merged."""

    code = "schema_conflict"


class PreconditionFailed(ConflictError):
    """The head of the branch is not the commit the caller expected."""

    code = "precondition_failed"


class ContentionError(ConflictError):
    """Others were faster more often than we try."""

    code = "contention"
    retryable = True


class WriteExpired(ConflictError):
    """A load took longer than the grace period of a cleanup that ran meanwhile, which may have deleted its files."""

    code = "write_expired"
    retryable = True


class LimitExceeded(OmnigraphError):
    """A query needs more time or memory than it may use."""

    code = "resource_limit"


class QueryCancelled(OmnigraphError):
    """The caller no longer wants the answer."""

    code = "cancelled"


class EmbeddingError(OmnigraphError):
    """A text could not be turned into a vector: nobody is configured to do it, or the answer is of no use."""

    code = "embedding"


class EmbeddingUnavailable(EmbeddingError):
    """The provider did not answer, or not in time, however often it was asked."""

    code = "embedding_unavailable"
    retryable = True


class SparkError(OmnigraphError):
    """A job failed for a reason of the cluster's own: lost executors, memory, code that is not installed there."""

    code = "spark"


class SparkUnavailable(SparkError):
    """Spark cannot be used as things are: Java, a package or a setting of the session is missing."""

    code = "spark_unavailable"


class StorageError(OmnigraphError):
    """The store cannot be used."""

    code = "storage"


class NotAGraphError(StorageError):
    """There is no graph at this place."""

    code = "not_a_graph"


class FormatError(StorageError):
    """A graph of another format."""

    code = "format"


class CorruptionError(StorageError):
    """A file that a commit needs is missing or damaged."""

    code = "corruption"


class OutcomeUnknown(OmnigraphError):
    """The store did not answer and cannot be asked: whether the commit was made is not known yet."""

    code = "outcome_unknown"
    retryable = False

    def __init__(self, commit_id: str | None, reason: str, *, change: str | None = None) -> None:
        """``change`` says in words what may have happened, where it is no commit: a name that was taken or given up."""
        if commit_id is not None:
            change = f"commit {commit_id} was made"
            hint = f"ask later: graph.commit({commit_id!r}) finds it if it was made"
        else:
            hint = "look again later"
        super().__init__(f"it is not known whether {change}: {reason}", hint=hint, commit=commit_id)
        self.commit_id = commit_id
