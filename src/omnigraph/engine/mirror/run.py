"""Mirrors: a branch as ordinary Lance datasets, for tools that know neither the namespace nor this library.

Order of a refresh: register the versions that the mirror will need, so that cleanup keeps them; make each changed
table the newest version of its dataset; replace the marker, which names the commit; register only what is needed now.
A refresh that was killed is completed by the next one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.core.tables import TablePin
from omnigraph.engine.history.snapshots import head_snapshot
from omnigraph.engine.mirror.result import MirroredTable, MirrorResult
from omnigraph.engine.query.table_names import table_names
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import CorruptionError, Hint, NotFoundError, UsageError
from omnigraph.manifest.mirrors import Mirror, forget, mirrors, save
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.stage.mirrored import mirror_version, remove_dataset
from omnigraph.storage.tables.store import Store

MARKER: Final = "_commit.json"
"""Names the commit and the versions of a complete refresh, in the directory of the mirror."""

SUFFIX: Final = ".lance"


@dataclass(frozen=True, slots=True)
class _Mirrored:
    """The versions of one dataset, in the graph and in the mirror."""

    location: str
    lance_version: int
    version: int


def refresh(manifests: Manifests, target: str, branch: str, storage_options: Mapping[str, str] | None) -> MirrorResult:
    """Bring a mirror to the head of a branch. Datasets of unchanged tables are not touched."""
    snapshot = head_snapshot(manifests, branch)
    place = _place(manifests, target, storage_options)
    if place.root == manifests.store.root or str(place.root).startswith(f"{manifests.store.root}/"):
        raise UsageError(
            f"{target} is inside the graph",
            hint=Hint(
                "mirror to a directory of its own, or use graph.mirror(in_place=True)",
                "mirror to a directory of its own, or pass --in-place",
            ),
        )
    marker = _marker(place, manifests.stamp.graph_id)
    before = {name: _Mirrored(*entry) for name, entry in marker.get("tables", {}).items()}
    pins = mirrored_pins(snapshot)
    needed = frozenset((pin.location, pin.lance_version) for pin in pins.values())
    still = frozenset((entry.location, entry.lance_version) for entry in before.values())
    _register(manifests, Mirror(str(place.root), branch, snapshot.commit_id, needed | still))
    # A cleanup that decided before the registration could not know it: the commit must still be readable now.
    commit = snapshot.state.commit(snapshot.commit_id)
    if commit is not None:
        manifests.check_files_kept(commit)
    after = {name: _refreshed(manifests.store, pin, place, name, before.get(name)) for name, pin in pins.items()}
    for name in before.keys() - after.keys():
        remove_dataset(place, name + SUFFIX)
    place.objects.replace(MARKER, _marker_content(manifests, snapshot, after))
    _register(manifests, Mirror(str(place.root), branch, snapshot.commit_id, needed))
    return MirrorResult(
        str(place.root),
        branch,
        snapshot.commit_id,
        tuple(
            MirroredTable(name, pins[name].rows, entry.version, before.get(name) != entry)
            for name, entry in sorted(after.items())
        ),
        tuple(sorted(before.keys() - after.keys())),
        external_names(snapshot),
    )


def external_names(snapshot: Snapshot) -> tuple[str, ...]:
    """The types without a Lance table, which no mirror shows."""
    return tuple(entity.name for entity in snapshot.entities() if entity.ir.external is not None)


def _place(manifests: Manifests, target: str, storage_options: Mapping[str, str] | None) -> Store:
    return Store(target, manifests.store.options if storage_options is None else storage_options)


def mirrored_pins(snapshot: Snapshot) -> dict[str, TablePin]:
    """The tables of a snapshot by the names that a mirror gives them."""
    pins = {name: snapshot.state.tables[entity.table_key] for name, entity in table_names(snapshot.entities()).items()}
    return {name: pin for name, pin in pins.items() if not pin.is_external}


def _refreshed(store: Store, pin: TablePin, place: Store, name: str, before: _Mirrored | None) -> _Mirrored:
    if before is not None and (before.location, before.lance_version) == (pin.location, pin.lance_version):
        return before
    if before is not None and before.location != pin.location:
        # Another type of the same name: its rows and columns have nothing in common.
        remove_dataset(place, name + SUFFIX)
    return _Mirrored(pin.location, pin.lance_version, mirror_version(store, pin, place, name + SUFFIX))


def _marker(place: Store, graph_id: str) -> dict[str, Any]:
    content = place.objects.read(MARKER)
    if content is None:
        if any(True for _ in place.objects.list("")):
            raise UsageError(f"{place.root} is not empty and is no mirror", hint="mirror to a new or empty directory")
        return {}
    marker: dict[str, Any] = json.loads(content)
    if marker.get("graph") not in (None, graph_id):
        raise UsageError(f"{place.root} mirrors another graph", hint="mirror to a new or empty directory")
    return marker


def _marker_content(manifests: Manifests, snapshot: Snapshot, tables: Mapping[str, _Mirrored]) -> bytes:
    content = {
        "graph": manifests.stamp.graph_id,
        "uri": str(manifests.store.root),
        "branch": snapshot.branch,
        "commit": snapshot.commit_id,
        "tables": {
            name: [entry.location, entry.lance_version, entry.version] for name, entry in sorted(tables.items())
        },
    }
    return json.dumps(content, indent=1).encode()


def _register(manifests: Manifests, mirror: Mirror) -> None:
    save(manifests.store.objects, mirror)


def remove(manifests: Manifests, target: str, storage_options: Mapping[str, str] | None) -> None:
    """Delete the datasets of a mirror, its marker and its record. Other files of the directory stay."""
    place = _place(manifests, target, storage_options)
    known = next((mirror for mirror in registered(manifests) if mirror.target == str(place.root)), None)
    if known is None:
        targets = [mirror.target for mirror in registered(manifests)]
        raise NotFoundError(
            f"this graph has no mirror at {place.root}", hint=f"its mirrors are {', '.join(targets) or 'none'}"
        )
    for name in _marker(place, manifests.stamp.graph_id).get("tables", {}):
        remove_dataset(place, name + SUFFIX)
    place.objects.delete(MARKER)
    forget(manifests.store.objects, known)


def registered(manifests: Manifests) -> list[Mirror]:
    """The mirrors of a graph; raises for an unreadable record."""
    found: list[Mirror] = []
    for mirror in mirrors(manifests.store.objects):
        if isinstance(mirror, CorruptionError):
            raise mirror
        found.append(mirror)
    return found
