"""Checkpoints of iterative analyses: one file per commit, algorithm and set of parameters."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

from omnigraph.engine.snapshot import Snapshot
from omnigraph.exec.analytics.rounds import NOTHING_KEPT, KeptRounds, Rounds
from omnigraph.storage.objects.backends import open_objects, parse_root


def rounds_of(
    directory: str | os.PathLike[str] | None, snapshot: Snapshot, algorithm: str, settings: Mapping[str, object]
) -> tuple[Rounds, str | None]:
    """The rounds of one analysis, checkpointed below a local directory or ``s3://...`` if one is given.

    Node numbers derive from the tables of the commit, so a checkpoint of the same commit fits in any process. The
    second value is a directory there for vectors that are too large for the checkpoint itself.
    """
    if directory is None:
        return NOTHING_KEPT, None
    store, root = snapshot.store, parse_root(directory)
    digest = hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()[:16]
    name = f"{algorithm}-{snapshot.commit_id}-{digest}"
    objects = open_objects(root, store.options, store.durability)
    return KeptRounds(objects, f"{name}.npz", store.tuning.checkpoint_rounds), f"{root}/{name}"
