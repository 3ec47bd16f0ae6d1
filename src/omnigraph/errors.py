"""Every error Omnigraph raises, as one tree.

    OmnigraphError
    ├── InputError                the caller's input is wrong; nothing was changed
    │   ├── CompileError          a .pg or .gq text, or a Spark filter, does not compile (carries diagnostics)
    │   ├── ParameterError        query parameters do not match their declaration
    │   ├── MigrationRefused      a schema change that cannot be planned or applied
    │   ├── ViolationError        entities that violate the schema (counted and sampled)
    │   ├── ExternalTypeError     a write to an external type, whose rows are in a table outside the graph
    │   ├── BlobRangeError        a byte range outside the blob
    │   ├── CursorRejected        a cursor of another graph, branch or filter
    │   ├── PolicyInvalid         a policy bundle that does not parse or validate
    │   ├── ClusterInvalid        a cluster whose configuration or state cannot be used
    │   └── UsageError            an invalid argument or combination of arguments
    │       ├── ArgumentError     an argument of a wrong type, or one that does not exist (also a TypeError)
    │       └── RemoteUnsupported a verb or option that a graph behind a server does not have
    ├── NotFoundError             a name, file, branch, commit or query that does not exist
    │   └── HistoryCleaned        a commit that cleanup has expired: listed, but not readable
    ├── ChangeFeedGap             changes that cleanup has made unreadable
    ├── ConflictError             conflicting changes; nothing was changed
    │   ├── AlreadyExistsError    the name exists already
    │   ├── KeyConflictError      an id that exists already, or twice in the input
    │   ├── ReadSetConflict       a concurrent write changed the rows that a write had read (retryable)
    │   ├── MergeConflicts        branches with unresolved conflicts (carries all of them)
    │   ├── SchemaConflict        branches whose schemas cannot be merged
    │   ├── PreconditionFailed    the branch head is not the expected commit
    │   ├── ContentionError       other writers won the publish race too often (retryable)
    │   └── WriteExpired          a load slower than the grace period of a cleanup (retryable)
    ├── PolicyDenied              the policy does not allow the actor to do this; nothing was changed
    ├── PolicyFailure             the policy could not be evaluated, so the call was refused
    ├── LimitExceeded             a query exceeds its limit of time or memory
    ├── QueryCancelled            the caller cancelled the query
    ├── EmbeddingError            a text could not be embedded
    │   └── EmbeddingUnavailable  the provider did not respond in time (retryable)
    ├── SparkError                a Spark job failed because of the cluster; nothing was changed
    │   └── SparkUnavailable      Java, pyspark or a session setting is missing
    ├── StorageError              the store cannot be used
    │   ├── NotAGraphError        no graph at this location
    │   ├── FormatError           a graph with another storage format
    │   ├── SourceChanged         a file of an external type that was changed or deleted after it was sealed
    │   └── CorruptionError       a file that a commit needs is missing or damaged
    ├── NotAuthenticated          a server did not accept the token, or asks for one
    ├── ServerError               a server failed, or its answer cannot be read
    │   └── ServerUnavailable     a server cannot be reached, or is busy (retryable)
    └── OutcomeUnknown            the store did not confirm the commit: look it up by id

An error has a stable ``code`` for programs, a message (problem, value, expectation) with a ``hint`` (next step),
``facts`` with the values in the message, and ``retryable``: whether the same call may succeed later. Messages are
written where errors are raised, not here. A next step that a program and a shell write differently is a ``Hint``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from omnigraph.core.classes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Hint:
    """The next step as a Python program takes it, and as the command line does."""

    python: str
    command: str


class LocatedMessage(Protocol):
    """The part of a compiler diagnostic that an error uses."""

    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    def render(self) -> str: ...


class OmnigraphError(Exception):
    """Root of the tree: catch this to catch everything Omnigraph raises on purpose."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | Hint | None = None, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.advise(hint)
        self.facts: Mapping[str, object] = facts

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message

    def advise(self, hint: str | Hint | None) -> None:
        """Set the next step."""
        self.hint = hint.python if isinstance(hint, Hint) else hint
        self.command_hint = hint.command if isinstance(hint, Hint) else hint

    def give_up(self, attempts: int) -> None:
        """Note that a retry has raised this error after its last attempt."""
        self.message += f" (attempt {attempts} of {attempts})"
        self.args = (self.message,)
        self.facts = {**self.facts, "attempts": attempts}

    def _render_traceback_(self) -> list[str]:
        """The traceback that IPython shows: frames of the caller, then the message. Python's own stays whole."""
        from omnigraph.core.calls.tracebacks import short_traceback

        return short_traceback(self)

    def __reduce__(self) -> tuple[object, ...]:
        # Unpickling an exception calls its class with the message alone, which most classes here do not accept.
        return _revive, (type(self), self.args, self.__dict__)


def _revive(error_type: type[OmnigraphError], args: tuple[object, ...], state: dict[str, object]) -> OmnigraphError:
    """Restore a pickled error without calling its constructor."""
    error = error_type.__new__(error_type, *args)
    error.__dict__.update(state)
    return error


class InputError(OmnigraphError):
    """Invalid input; nothing was changed."""

    code = "bad_request"


class CompileError(InputError):
    """A schema or query text, or a filter of a Spark frame, that does not parse or type-check."""

    code = "compile_error"

    def __init__(self, diagnostics: Sequence[LocatedMessage]) -> None:
        super().__init__("\n".join(diagnostic.render() for diagnostic in diagnostics))
        self.diagnostics = tuple(diagnostics)


class ParameterError(InputError):
    """A query parameter is missing or has the wrong type."""

    code = "bad_parameter"


class MigrationRefused(InputError):
    """A schema change without a migration step, or with an invalid hint such as a rename of an unknown name."""

    code = "migration_refused"


class ExternalTypeError(InputError):
    """A write to an external type: its rows change where they are, and a refresh brings them into the graph."""

    code = "external_type"


class BlobRangeError(InputError):
    """A byte range outside the blob; ``start``, ``end`` and ``length`` are facts."""

    code = "blob_range"


class CursorRejected(InputError):
    """A cursor of another graph, branch or filter, or a text that is not a cursor."""

    code = "cursor_rejected"


class PolicyInvalid(InputError):
    """A policy bundle that does not parse or validate. The message lists all problems that were found."""

    code = "policy_invalid"


class ClusterInvalid(InputError):
    """The configuration or the state of a cluster cannot be used; ``reason`` is a stable word for it."""

    code = "cluster_invalid"


class UsageError(InputError):
    """An invalid argument, or arguments that exclude each other."""

    code = "usage"


class ArgumentError(UsageError, TypeError):
    """An argument of a wrong type, an unknown one, or a missing one. It is a ``TypeError`` too, as Python raises."""

    code = "bad_argument"


class RemoteUnsupported(UsageError):
    """A verb or option of a graph that the HTTP interface of a server does not have; ``verb`` names it."""

    code = "remote_unsupported"


class NotFoundError(OmnigraphError):
    """A name that does not exist."""

    code = "not_found"


class HistoryCleaned(NotFoundError):
    """A commit that cleanup has expired. Its record remains; its state can no longer be read."""

    code = "history_cleaned"


class ChangeFeedGap(OmnigraphError):
    """Changes that are not readable from ``first_unreadable_commit_id`` on. Start again from a baseline."""

    code = "change_feed_gap"


class ViolationError(InputError):
    """Entities that violate constraints: ``samples`` of them, and ``counts`` by kind."""

    code = "violation"

    def __init__(
        self,
        message: str,
        *,
        total: int,
        samples: Sequence[object],
        counts: Mapping[str, int],
        hint: str | Hint | None = None,
    ) -> None:
        super().__init__(message, hint=hint, total=total)
        self.total = total
        self.samples = tuple(samples)
        self.counts = dict(counts)


class ConflictError(OmnigraphError):
    """A change that conflicts with another one; it was not applied."""

    code = "conflict"


class AlreadyExistsError(ConflictError):
    """The name exists already."""

    code = "already_exists"


class KeyConflictError(ConflictError):
    """An id that exists already, or twice in one input."""

    code = "key_conflict"


class ReadSetConflict(ConflictError):
    """A concurrent write changed the rows that this write had read. Read again and retry."""

    code = "read_set_conflict"
    retryable = True


class MergeConflicts(ConflictError):
    """Unresolved conflicts of a merge or revert: all ``conflicts``, and the same as an Arrow ``table``."""

    code = "merge_conflicts"

    def __init__(
        self, message: str, *, conflicts: Sequence[object], table: object, hint: str | Hint | None = None
    ) -> None:
        super().__init__(message, hint=hint, total=len(conflicts))
        self.conflicts = tuple(conflicts)
        self.table = table


class SchemaConflict(ConflictError):
    """Conflicting changes of two schemas."""

    code = "schema_conflict"


class PreconditionFailed(ConflictError):
    """The head of the branch is not the commit the caller expected."""

    code = "precondition_failed"


class ContentionError(ConflictError):
    """Other writers won the publish race in every attempt."""

    code = "contention"
    retryable = True


class WriteExpired(ConflictError):
    """A load that took longer than the grace period of a concurrent cleanup, which may have deleted its files."""

    code = "write_expired"
    retryable = True


class PolicyDenied(OmnigraphError):
    """The policy does not allow the action. Facts: ``actor``, ``action``, ``branch`` and ``target_branch``."""

    code = "forbidden"


class PolicyFailure(OmnigraphError):
    """The policy could not be evaluated. The call was refused, because a policy that fails must not allow."""

    code = "policy"


class LimitExceeded(OmnigraphError):
    """A query that exceeds its limit of time or memory."""

    code = "resource_limit"


class QueryCancelled(OmnigraphError):
    """The caller cancelled the query."""

    code = "cancelled"


class EmbeddingError(OmnigraphError):
    """A text could not be embedded: no provider is configured, or its response is invalid."""

    code = "embedding"


class EmbeddingUnavailable(EmbeddingError):
    """The provider did not respond in time, after all retries."""

    code = "embedding_unavailable"
    retryable = True


class SparkError(OmnigraphError):
    """A job failed because of the cluster: lost executors, memory, or code that is not installed there."""

    code = "spark"


class SparkUnavailable(SparkError):
    """Spark is not available: Java, a package or a session setting is missing."""

    code = "spark_unavailable"


class StorageError(OmnigraphError):
    """The store cannot be used."""

    code = "storage"


class NotAGraphError(StorageError):
    """No graph exists at this location."""

    code = "not_a_graph"


class FormatError(StorageError):
    """A graph with another storage format."""

    code = "format"


class SourceChanged(StorageError):
    """A file of an external type that was changed or deleted after the commit had sealed it."""

    code = "source_changed"


class CorruptionError(StorageError):
    """A file that a commit needs is missing or damaged."""

    code = "corruption"


class NotAuthenticated(OmnigraphError):
    """A server did not accept the token of the caller, or asks for one."""

    code = "unauthenticated"


class ServerError(OmnigraphError):
    """A server failed, or gave an answer that cannot be read. ``status`` and ``request_id`` find it in its log."""

    code = "server"


class ServerUnavailable(ServerError):
    """A server that cannot be reached, is busy, or ended in the middle of an answer, after all retries."""

    code = "server_unavailable"
    retryable = True


class OutcomeUnknown(OmnigraphError):
    """The store did not confirm the commit and could not be queried: the outcome is unknown."""

    code = "outcome_unknown"

    def __init__(self, commit_id: str | None, reason: str, *, change: str | None = None) -> None:
        """``change`` describes a change that is not a commit, such as the creation or deletion of a name."""
        hint: str | Hint
        if commit_id is not None:
            change = f"commit {commit_id} was made"
            hint = Hint(
                f"look it up later: graph.commit({commit_id!r}) succeeds if the commit was made",
                f"look it up later: omnigraph commit show {commit_id} succeeds if the commit was made",
            )
        else:
            hint = "check again later"
        super().__init__(f"it is not known whether {change}: {reason}", hint=hint, commit=commit_id)
        self.commit_id = commit_id
