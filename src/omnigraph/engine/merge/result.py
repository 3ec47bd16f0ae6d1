"""What merges and their previews answer: for programs, for people, and to be saved and taken up again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.engine_choice import EMBEDDED
from omnigraph.engine.results import commit_json
from omnigraph.engine.table_counts import table_json, table_lines
from omnigraph.errors import UsageError
from omnigraph.history.conflicts import ConflictKind, MergeConflict, Resolution, read_resolutions
from omnigraph.write.merge.conflicts import conflicts_table
from omnigraph.write.merge.decide import MergeOutcome, TableCounts

PREVIEW_FORMAT = "omnigraph.merge_preview"

Policy = str | Mapping[str, str] | None
"""A policy for everything, or by ``Type``, ``Type.property`` and ``*``."""


@dataclass(frozen=True, slots=True, repr=False)
class MergeResult:
    """A merge that was made. ``commit`` is None if there was nothing to merge."""

    source: str
    target: str
    outcome: MergeOutcome
    base: str | None
    source_head: str
    tables: tuple[TableCounts, ...]
    actor: str | None
    commit: GraphCommit | None
    repeated: bool = False
    engine: str = EMBEDDED
    """Who merged the rows: ``spark`` if it merged at least one table."""

    def __repr__(self) -> str:
        return f"<MergeResult {self.source} into {self.target}: {self.outcome.value}>" + table_lines(self.tables)

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "target": self.target,
            "outcome": self.outcome.value,
            "base_commit_id": self.base,
            "source_commit_id": self.source_head,
            "tables": [table_json(item) for item in self.tables],
            "engine": self.engine,
            "actor_id": self.actor,
            "commit": None if self.commit is None else commit_json(self.commit),
        }


@dataclass(frozen=True, slots=True, repr=False)
class MergePreview:
    """What a merge would do, and with which settings. It is bound to the two heads it was made of."""

    source: str
    target: str
    outcome: MergeOutcome
    base: str
    source_head: str
    target_head: str
    tables: tuple[TableCounts, ...] = ()
    conflicts: tuple[MergeConflict, ...] = ()
    policy: Policy = None
    resolutions: tuple[Resolution, ...] = field(default=())
    engine: str = EMBEDDED

    def __repr__(self) -> str:
        head = f"<MergePreview of {self.source} into {self.target}: {self.outcome.value}>"
        return head + table_lines(self.tables) + "".join(f"\n  {conflict}" for conflict in self.conflicts[:10])

    def conflicts_table(self) -> pa.Table:
        """The conflicts as Arrow: table, id, kind, property, and the values of base, source and target as JSON."""
        return conflicts_table(self.conflicts)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": PREVIEW_FORMAT,
            "source": self.source,
            "target": self.target,
            "outcome": self.outcome.value,
            "base_commit_id": self.base,
            "source_commit_id": self.source_head,
            "target_commit_id": self.target_head,
            "engine": self.engine,
            "tables": [table_json(item) for item in self.tables],
            "merge_conflicts": [conflict.to_json() for conflict in self.conflicts],
            "policy": dict(self.policy) if isinstance(self.policy, Mapping) else self.policy,
            "resolutions": [resolution.to_json() for resolution in self.resolutions],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, to be looked at and taken up later."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.to_json(), file, indent=2, ensure_ascii=False)
            file.write("\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MergePreview:
        """The preview that was saved in a file. Resolutions that somebody wrote into it count."""
        try:
            with open(path, encoding="utf-8") as file:
                return cls.from_json(json.load(file))
        except (OSError, ValueError) as error:
            raise UsageError(f"{os.fspath(path)!r} cannot be read as a preview: {error}") from error

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> MergePreview:
        """The preview of a JSON form."""
        if said.get("format") != PREVIEW_FORMAT:
            raise UsageError(
                "this is no saved preview of a merge", hint="omnigraph merge preview --save FILE makes one"
            )
        try:
            return cls(
                source=said["source"],
                target=said["target"],
                outcome=MergeOutcome(said["outcome"]),
                base=said["base_commit_id"],
                source_head=said["source_commit_id"],
                target_head=said["target_commit_id"],
                tables=tuple(_table(item) for item in said["tables"]),
                conflicts=tuple(_conflict(item) for item in said["merge_conflicts"]),
                policy=said["policy"],
                resolutions=read_resolutions(said["resolutions"]).given,
                engine=said.get("engine", EMBEDDED),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"the saved preview is damaged: {error!r}", hint="make it again") from error


def _table(said: Mapping[str, Any]) -> TableCounts:
    numbers = (said["inserted"], said["updated"], said["deleted"])
    return TableCounts(said["table_key"], *numbers, adopted=said["adopted"], conflicts=said["conflicts"])


def _conflict(said: Mapping[str, Any]) -> MergeConflict:
    return MergeConflict(
        said["table_key"],
        said["entity_id"],
        ConflictKind(said["kind"]),
        said["property"],
        said["base"],
        said["source"],
        said["target"],
        said["message"],
    )
