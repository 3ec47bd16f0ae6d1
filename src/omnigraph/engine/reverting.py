"""The reverting verbs of ``Graph``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from omnigraph.engine.handle import GraphHandle
from omnigraph.engine.telemetry import told
from omnigraph.manifest.layout import MAIN
from omnigraph.write.context import WriteOptions

if TYPE_CHECKING:
    from omnigraph.engine.merge.result import Policy
    from omnigraph.engine.revert.result import RevertPreview, RevertResult
    from omnigraph.history.conflicts import Resolution


class Reverting(GraphHandle):
    """Undoing what commits did."""

    @told("revert")
    def revert(
        self,
        commits: str | None = None,
        *,
        actor: str | None = None,
        run: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        branch: str = MAIN,
        policy: Policy = None,
        resolutions: Sequence[Mapping[str, Any] | Resolution] = (),
        by: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
    ) -> RevertResult:
        """Undo exactly what some commits did, as one commit on top of the head; what others changed later stays.

        ``commits`` is a commit or a range ``"OLDER..NEWER"`` (without the older one). ``actor``, ``run`` (the key of
        that name in the provenance), ``since`` and ``until`` choose commits by who made them and when; all that is
        said must hold. ``by`` is who reverts. It is decided like a merge, and ``policy`` and ``resolutions`` settle
        conflicts as there: the source is the state before the commits, the target the head. If conflicts stay,
        ``MergeConflicts`` is raised with all of them, and nothing is changed.
        """
        from omnigraph.engine.revert import run as reverts

        options = WriteOptions(by, message, idempotency_key, provenance or {}, if_commit)
        undone = reverts.Undone(commits, actor, run, since, until)
        return reverts.revert(self._context, undone, branch, policy, resolutions, options)

    def revert_preview(
        self,
        commits: str | None = None,
        *,
        actor: str | None = None,
        run: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        branch: str = MAIN,
        policy: Policy = None,
        resolutions: Sequence[Mapping[str, Any] | Resolution] = (),
    ) -> RevertPreview:
        """What ``revert`` would do, with all conflicts. Nothing is changed."""
        from omnigraph.engine.revert import run as reverts

        undone = reverts.Undone(commits, actor, run, since, until)
        return reverts.preview(self._context, undone, branch, policy, resolutions)
