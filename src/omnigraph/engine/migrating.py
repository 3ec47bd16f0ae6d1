"""The verbs of ``Graph`` that change its schema."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.engine.branches import Branching
from omnigraph.engine.telemetry import told
from omnigraph.manifest.layout import MAIN
from omnigraph.write.context import WriteOptions

if TYPE_CHECKING:
    from omnigraph.engine.schema.result import SchemaResult
    from omnigraph.schema.migration import MigrationPlan


class Migrating(Branching):
    """Changing the schema of a branch."""

    def plan_schema(
        self, schema: str | os.PathLike[str], *, branch: str = MAIN, allow_data_loss: bool = False
    ) -> MigrationPlan:
        """The steps that ``apply_schema`` would take. Looks at schemas only: no entity is read, nothing is changed.

        ``schema`` is a text, or the path of a file as a ``pathlib.Path``.
        """
        from omnigraph.engine.schema import run as schema_changes

        source = schema_changes.schema_source(schema)
        return schema_changes.plan_schema(self._context, source, branch, allow_data_loss=allow_data_loss)

    @told("apply_schema")
    def apply_schema(
        self,
        schema: str | os.PathLike[str],
        *,
        branch: str = MAIN,
        allow_data_loss: bool = False,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
    ) -> SchemaResult:
        """Give a branch another schema, as one commit; no commit if the text means what the branch has.

        ``schema`` is a text, or the path of a file as a ``pathlib.Path``. Entities that would break what it demands are
        counted and sampled in a ``ViolationError``, steps that cannot be taken raise ``MigrationRefused``, and nothing
        is changed. Older commits keep their schema and their data.
        """
        from omnigraph.engine.schema import run as schema_changes

        options = WriteOptions(actor, message, idempotency_key, provenance or {}, if_commit)
        source = schema_changes.schema_source(schema)
        return schema_changes.apply_schema(self._context, source, branch, options, allow_data_loss=allow_data_loss)
