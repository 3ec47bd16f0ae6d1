"""Tables of graphs by identifier: the lookups behind every operation of the namespace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from lance_namespace import (
    InvalidInputError,
    NamespaceNotFoundError,
    TableNotFoundError,
    TableVersion,
    TableVersionNotFoundError,
)

from omnigraph.core.suggestions import did_you_mean
from omnigraph.core.tables import TablePin
from omnigraph.engine.graph import Graph
from omnigraph.engine.history.table_versions import VersionMade, table_versions
from omnigraph.engine.query.table_names import table_names
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.namespace.failures import hinted
from omnigraph.namespace.table_ids import Path, Ref
from omnigraph.rows.arrow_types import Entity
from omnigraph.storage.objects.uri import is_remote
from omnigraph.storage.objects.version_names import DETACHED_BIT, LAST_NUMBER, manifest_file


@dataclass(frozen=True, slots=True)
class Table:
    """A table at a ref."""

    graph: Graph
    ref: Ref
    snapshot: Snapshot
    entity: Entity

    @property
    def pin(self) -> TablePin:
        return self.snapshot.state.tables[self.entity.table_key]

    @property
    def uri(self) -> str:
        """The address of the table for another program: a path on local disk, otherwise a URL."""
        return f"{self.snapshot.store.root}/{self.pin.location}"

    @property
    def storage_options(self) -> dict[str, str]:
        return dict(self.snapshot.store.lance_options or {})

    def manifest_path(self, pin: TablePin) -> str:
        """The manifest of a version, as Lance's object store names it: a local path, or the key in the bucket."""
        uri = f"{self.snapshot.store.root}/{manifest_file(pin.location, pin.lance_version)}"
        return urlsplit(uri).path.removeprefix("/") if is_remote(uri) else uri

    def versions(self) -> Iterator[VersionMade]:
        """Versions that the history of the ref has, newest first."""
        return table_versions(self.snapshot, self.entity.table_key)

    def version(self, number: int | None) -> VersionMade:
        """A version by its number; the newest by default."""
        # Lance numbers are unsigned, those of the interface are signed.
        wanted = number + LAST_NUMBER + 1 if number is not None and number < 0 else number
        for version in self.versions():
            pin = version.pin
            if wanted is None or wanted == (pin.lance_version if wanted & DETACHED_BIT else pin.table_version):
                return version
        newest = self.pin.table_version
        raise TableVersionNotFoundError(
            f"{self.entity.name} has no readable version {number} on {self.ref}; the newest one is {newest}"
        )


def described(table: Table, version: VersionMade) -> TableVersion:
    """A version in the form of the interface."""
    commit = version.commit
    metadata = {"rows": str(version.pin.rows)}
    return TableVersion(
        version=version.pin.table_version,
        manifest_path=table.manifest_path(version.pin),
        timestamp_millis=None if commit is None else commit.created_at_us // 1000,
        metadata=metadata if commit is None else {**metadata, "commit": commit.id},
    )


class Graphs:
    """The served graphs: one, or several by name."""

    def __init__(self, graphs: Mapping[str, Graph] | Graph) -> None:
        self._graphs = {"": graphs} if isinstance(graphs, Graph) else dict(graphs)
        self.many = not isinstance(graphs, Graph)

    def names(self) -> list[str]:
        return sorted(self._graphs)

    def graph(self, name: str | None) -> Graph:
        found = self._graphs.get(name or "")
        if found is None:
            names = self.names()
            hint = did_you_mean(name or "", names) or f"the graphs are {', '.join(names)}"
            raise NamespaceNotFoundError(hinted(f"there is no graph {name!r}", hint))
        return found

    def snapshot(self, path: Path) -> Snapshot:
        """The state that the ref of a path names."""
        if path.ref is None:
            raise InvalidInputError("tables are in a branch or a commit; name one, such as 'main'")
        graph = self.graph(path.graph)
        try:
            found = graph.snapshot(path.ref.branch) if path.ref.at is None else graph.snapshot(at=path.ref.at)
            # Lance reads whole tables, so actors with a scope are denied here.
            found.require_whole()
            return found
        except (NotFoundError, UsageError) as error:
            raise NamespaceNotFoundError(hinted(error.message, error.hint)) from error

    def table(self, path: Path, known: Snapshot | None = None) -> Table:
        """The table of a path, in a snapshot that is known already or is looked up."""
        snapshot = known or self.snapshot(path)
        names = table_names(snapshot.entities())
        entity = names.get(path.table or "")
        if entity is None or path.ref is None:
            hint = did_you_mean(path.table or "", list(names))
            raise TableNotFoundError(hinted(f"there is no table {path.table!r} on {path.ref}", hint))
        return Table(self.graph(path.graph), path.ref, snapshot, entity)

    def branches(self, path: Path) -> list[str]:
        """The names of the branches of a graph."""
        return [branch.name for branch in self.graph(path.graph).branches()]

    def identifiers(self, delimiter: str) -> list[str]:
        """The identifiers of all tables on all branches, each as one text."""
        found: list[str] = []
        for name in self.names():
            for branch in self.branches(Path(name)):
                parts = [name, branch] if self.many else [branch]
                found += [delimiter.join([*parts, table]) for table in self.tables(Path(name, Ref(branch)))]
        return found

    def tables(self, path: Path) -> list[str]:
        """The names of the tables at a ref. External types have none that a Lance client could open."""
        names = table_names(self.snapshot(path).entities())
        return sorted(name for name, entity in names.items() if entity.ir.external is None)
