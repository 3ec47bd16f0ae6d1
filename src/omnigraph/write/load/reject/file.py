"""The file of rejected rows: JSON lines with the place, the reasons and the record of each.

It is a new local file that appears as a whole, and stays only if the load made a commit.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from omnigraph.errors import AlreadyExistsError, LimitExceeded, OutcomeUnknown, UsageError
from omnigraph.rows.rejected.records import json_form
from omnigraph.rows.violations import Place, Violation
from omnigraph.storage.objects.uri import is_remote
from omnigraph.write import limits
from omnigraph.write.violations import SHOWN_MAX

RejectedRow = tuple[Place, Sequence[Violation], object]
"""Place, reasons and record of a row."""


def require_new(path: str) -> None:
    """Raise if rejected rows cannot be written to a path; called before any input is read."""
    if is_remote(path):
        raise UsageError(
            "rejected rows can only be written to a local file", hint="use a path on this machine", path=path
        )
    if os.path.lexists(path):
        raise AlreadyExistsError(f"{path!r} already exists", hint="use a new file for rejected rows", path=path)
    directory = os.path.dirname(os.path.abspath(path))
    if not os.access(directory, os.W_OK):
        raise UsageError(f"cannot write {path!r}: its directory does not exist or is not writable", path=path)


def check_count(rows: int) -> None:
    """Raise LimitExceeded if a load rejects too many rows."""
    if rows > limits.REJECTED_ROWS_MAX:
        raise LimitExceeded(
            f"more than {limits.REJECTED_ROWS_MAX:,} rows would be rejected",
            hint="nothing was loaded; load without reject_to to see the violations",
            limit=limits.REJECTED_ROWS_MAX,
        )


def shown_rejections(rows: Iterable[tuple[Place, Sequence[Violation]]]) -> tuple[str, ...]:
    """The first rejected rows with their first reason, for a preview."""
    return tuple(f"{place}: {reasons[0].message}" for place, reasons in islice(rows, SHOWN_MAX))


@dataclass(frozen=True, slots=True)
class RejectFile:
    """The file of one load."""

    path: str

    @property
    def _unfinished(self) -> str:
        return f"{self.path}.unfinished"

    def write(self, rows: Iterable[RejectedRow]) -> None:
        """Write the file atomically."""
        with open(self._unfinished, "w", encoding="utf-8") as file:
            for place, reasons, record in rows:
                line = {
                    "file": place.source,
                    "line": place.line,
                    "reasons": [{"code": reason.code.value, "message": reason.message} for reason in reasons],
                    "record": record,
                }
                print(json.dumps(line, ensure_ascii=False, default=json_form), file=file)
        os.replace(self._unfinished, self.path)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the file if the load in the block succeeds or its outcome is unknown; otherwise delete it."""
        try:
            yield
        except OutcomeUnknown:
            raise
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Delete the file, because its load made no commit."""
        for path in (self.path, self._unfinished):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
