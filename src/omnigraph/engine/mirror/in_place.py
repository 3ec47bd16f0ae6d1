"""A mirror in place: tools that open a table of the graph as a Lance directory see the head of one branch.

The order is that of any refresh: register the versions that will be needed, show them, register only those. An
ordinary version that another program wrote on top of a shown one is covered by showing the head again.
"""

from __future__ import annotations

from omnigraph.core.tables import TablePin
from omnigraph.engine.history.snapshots import head_snapshot
from omnigraph.engine.mirror.result import MirroredTable, MirrorResult
from omnigraph.engine.mirror.run import external_names, mirrored_pins
from omnigraph.errors import CorruptionError, NotFoundError
from omnigraph.manifest.mirrors import Mirror, Version, forget, mirrors, save
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.stage.in_place import hide_versions, newest_ordinary, show_version


def show(manifests: Manifests, branch: str) -> MirrorResult:
    """Make the head of a branch the newest ordinary version of every table. Tables that show it are not touched."""
    snapshot = head_snapshot(manifests, branch)
    pins = mirrored_pins(snapshot)
    store, root = manifests.store, str(manifests.store.root)
    before = _registered(manifests)
    newest = {name: newest_ordinary(store, pin.location) for name, pin in pins.items()}
    stale = {name for name, pin in pins.items() if not _is_shown(pin, newest[name], before)}
    needed = frozenset((pin.location, pin.lance_version) for pin in pins.values())
    # The next numbers are registered before they exist, or a cleanup without a grace period could delete them.
    shown = {(pin.location, newest[name] + (name in stale)) for name, pin in pins.items()}
    still = before or Mirror(root, branch, snapshot.commit_id, frozenset())
    save(
        store.objects,
        Mirror(root, branch, snapshot.commit_id, needed | still.versions, frozenset(shown) | still.shown),
    )
    commit = snapshot.state.commit(snapshot.commit_id)
    if commit is not None:
        manifests.check_files_kept(commit)
    after = {name: show_version(store, pin) if name in stale else newest[name] for name, pin in pins.items()}
    final = frozenset((pin.location, after[name]) for name, pin in pins.items())
    save(store.objects, Mirror(root, branch, snapshot.commit_id, needed, final))
    # Versions shown before are left to cleanup: a reader may have one of them open.
    tables = (MirroredTable(name, pin.rows, after[name], name in stale) for name, pin in sorted(pins.items()))
    return MirrorResult(root, branch, snapshot.commit_id, tuple(tables), skipped=external_names(snapshot))


def hide(manifests: Manifests) -> None:
    """Delete the ordinary versions of a mirror in place: each directory shows its first, empty version again."""
    known = _registered(manifests)
    if known is None:
        raise NotFoundError("this graph has no mirror in place")
    for location, _ in known.shown:
        hide_versions(manifests.store, location)
    forget(manifests.store.objects, known)


def shown_versions(manifests: Manifests) -> frozenset[Version]:
    """The ordinary versions of tables that belong to a mirror in place."""
    known = _registered(manifests)
    return frozenset() if known is None else known.shown


def _registered(manifests: Manifests) -> Mirror | None:
    root = str(manifests.store.root)
    for mirror in mirrors(manifests.store.objects):
        if not isinstance(mirror, CorruptionError) and mirror.target == root:
            return mirror
    return None


def _is_shown(pin: TablePin, newest: int, before: Mirror | None) -> bool:
    """True if the newest ordinary version is the pinned one: its first version, or one that a refresh showed."""
    if pin.lance_version == newest:
        return True
    if before is None or (pin.location, newest) not in before.shown:
        return False
    # A record that names two versions of a table is that of an interrupted refresh, and does not say which is shown.
    return {version for location, version in before.versions if location == pin.location} == {pin.lance_version}
