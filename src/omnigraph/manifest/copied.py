"""The target of a copy: whether it may be written to, and the files that make it a graph.

A target without a stamp is no graph. While it is filled it has a marker, so that a copy that was killed can be
continued, and files of another origin are never touched. The stamp is written last, and then the marker is removed.

===========  ==========  ===========================================================
stamp        marker      meaning
===========  ==========  ===========================================================
no           no          an empty place; anything else there is refused
no           clearing    a graph is being replaced: what is left of it is deleted
no           copying     an unfinished copy: continued if it is of the same graph
yes          any         a graph
===========  ==========  ===========================================================
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum

from omnigraph.errors import AlreadyExistsError
from omnigraph.history.state import COMMIT_LOG_LOCATION, ManifestState, to_rows
from omnigraph.manifest.create import check_conditional
from omnigraph.manifest.layout import (
    BRANCHES,
    FORMAT,
    MAIN_MANIFEST,
    REFS_PREFIX,
    STAMP_PATH,
    Stamp,
    has_manifest,
    manifest_location,
    ref_path,
    rows_to_arrow,
)
from omnigraph.manifest.mirrors import DIRECTORY as MIRRORS
from omnigraph.manifest.records import DIRECTORY as RECORDS
from omnigraph.manifest.refs import Ref, mark_path
from omnigraph.storage.objects.protocol import LEFTOVER
from omnigraph.storage.objects.sealed import seal, unseal
from omnigraph.storage.publish.swap import create_manifest
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep import jobs

MARKER = "copying.json"

_NAMES = (MAIN_MANIFEST, BRANCHES, REFS_PREFIX.rstrip("/"), RECORDS, COMMIT_LOG_LOCATION)
"""Directories that a copy of heads rewrites; tables and schemas are immutable and may stay."""

_LAYOUT = (*_NAMES, "nodes", "edges", "schemas", jobs.DIRECTORY, MIRRORS)


class Step(Enum):
    """Progress of a copy."""

    CLEARING = "clearing"
    COPYING = "copying"


@dataclass(frozen=True, slots=True)
class Marker:
    """The content of ``copying.json``: the source, and whether its history is copied."""

    source_id: str
    is_history: bool
    step: Step = Step.COPYING

    def to_bytes(self) -> bytes:
        return seal({"source": self.source_id, "history": self.is_history, "step": self.step.value})


def read_marker(store: Store) -> Marker | None:
    """The marker of an unfinished copy, or None."""
    content = store.objects.read(MARKER)
    if content is None:
        return None
    fields = unseal(content, MARKER)
    return Marker(str(fields["source"]), bool(fields["history"]), Step(fields["step"]))


def begin(store: Store, marker: Marker) -> None:
    """Claim a place without a graph: an empty one, or that of an unfinished copy of the same source."""
    found = read_marker(store)
    if found is None:
        _check_empty(store)
        check_conditional(store)
        if not store.objects.create(MARKER, marker.to_bytes()):
            raise _unfinished(store)
        return
    if (found.source_id, found.is_history) != (marker.source_id, marker.is_history):
        raise _unfinished(store)
    if found.step is Step.CLEARING:
        _clear(store, _LAYOUT)
    elif not marker.is_history:
        _clear(store, _NAMES)
    store.objects.replace(MARKER, marker.to_bytes())


def begin_replacement(store: Store, marker: Marker) -> None:
    """Delete the graph at a place. Its stamp goes first: a reader finds a whole graph or none."""
    store.objects.replace(MARKER, Marker(marker.source_id, marker.is_history, Step.CLEARING).to_bytes())
    store.objects.delete(STAMP_PATH)
    begin(store, marker)


def finish(store: Store, stamp: Stamp) -> None:
    """Write the stamp if there is none, and remove the marker: the place is a graph from here on."""
    store.objects.create(STAMP_PATH, stamp.to_bytes())
    store.objects.delete(MARKER)


def is_taken(store: Store) -> bool:
    """True if a place holds a graph, whole or damaged, and not an unfinished copy."""
    return store.objects.read(STAMP_PATH) is not None or (has_manifest(store) and store.objects.read(MARKER) is None)


def _check_empty(store: Store) -> None:
    if store.root.path is not None and os.path.isfile(store.root.path):
        raise AlreadyExistsError(f"{store.root} is a file", hint="a graph is a directory: name another place")
    level = store.objects.level("")
    if level.directories or any(not LEFTOVER.fullmatch(file.path) for file in level.files):
        raise AlreadyExistsError(
            f"{store.root} is not empty and holds no graph",
            hint="name a new place, or delete its content",
            root=str(store.root),
        )


def _unfinished(store: Store) -> AlreadyExistsError:
    return AlreadyExistsError(
        f"{store.root} holds an unfinished copy of another graph",
        hint="repeat that copy to complete it, or delete it",
        root=str(store.root),
    )


def _clear(store: Store, directories: tuple[str, ...]) -> None:
    for directory in directories:
        store.objects.delete_all([file.path for file in store.objects.walk(directory)])
        store.objects.prune(directory)


def publish_heads(store: Store, main: ManifestState, others: list[tuple[Ref, ManifestState]]) -> None:
    """Write the first manifests of a fresh graph, with its refs, and finish it."""
    for incarnation, state in [(main.incarnation, main), *((ref.incarnation, state) for ref, state in others)]:
        create_manifest(store, manifest_location(incarnation, main.incarnation), rows_to_arrow(to_rows(state)))
    for ref, _ in others:
        store.objects.create(ref_path(ref.name), ref.to_bytes())
        store.objects.replace(mark_path(ref.incarnation), ref.to_bytes())
    finish(store, Stamp(FORMAT, main.incarnation, main.commits[0].created_at_us))
