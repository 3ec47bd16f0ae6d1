"""Snapshots behind HTTP: the commit, and the numbers of entities by type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import NoReturn

from omnigraph.client.errors import unsupported
from omnigraph.client.texts import catalog_of
from omnigraph.client.transport import Query, Request, Transport
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.tables import TablePin
from omnigraph.engine.snapshot import Snapshot
from omnigraph.manifest.layout import MAIN
from omnigraph.schema.catalog import Catalog

_FIELDS = {item.name for item in fields(Snapshot)}


@dataclass(frozen=True, slots=True)
class RemoteState:
    """The tables of a branch at its head, with their versions, as a server shows them."""

    branch: str
    head: str
    counter: int
    tables: Mapping[str, TablePin]


@dataclass(frozen=True, slots=True, repr=False)
class RemoteSnapshot(Displayed):
    """A branch at one commit, with the facts of ``omnigraph.Snapshot`` that a server shows."""

    transport: Transport = field(repr=False)
    branch: str | None
    commit_id: str
    tables: Mapping[str, int]
    """Entities by table key, such as ``node:Person``."""
    lines: Callable[[list[str] | None, str], Iterator[bytes]] = field(repr=False, compare=False)
    """Exports the branch; it takes types and the form of dates."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or (not hasattr(Snapshot, name) and name not in _FIELDS):
            raise AttributeError(f"a remote snapshot has no attribute {name!r}")
        raise unsupported(
            f"snapshot().{name}", "a server shows counts and the schema of a snapshot only", "ask with graph.query"
        )

    def __len__(self) -> int:
        """The number of entities."""
        return sum(self.tables.values())

    def __bool__(self) -> bool:
        return True

    def counts(self) -> dict[str, int]:
        """Entities by table key, such as ``node:Person``."""
        return dict(sorted(self.tables.items()))

    def counts_by_type(self) -> dict[str, int]:
        """Entities by the name of the type; by table key where a node type and an edge type share a name."""
        names = [key.partition(":")[2] for key in self.tables]
        keys = sorted(self.tables, key=lambda key: (key.startswith("edge:"), key))
        return {
            name if names.count(name) == 1 else key: self.tables[key]
            for key, name in ((key, key.partition(":")[2]) for key in keys)
        }

    def export(self, types: list[str] | None = None, *, dates: str = "number") -> Iterator[bytes]:
        """The head of the branch as JSON lines in the form that ``load`` reads."""
        return self.lines(types, dates)

    def schema_text(self) -> str:
        """The schema of the branch as it was written."""
        if self.branch is None:
            raise unsupported("snapshot(at=...).schema_text", "a server shows the schemas of heads only")
        query: Query = {} if self.branch == MAIN else {"branch": self.branch}
        text: str = self.transport.form(Request("GET", "/schema", query))["schema_source"]
        return text

    @property
    def catalog(self) -> Catalog:
        """The compiled schema of the branch."""
        return catalog_of(self.schema_text())

    @property
    def state(self) -> RemoteState:
        """The tables at the head of the branch, with their versions."""
        if self.branch is None:
            raise unsupported("snapshot(at=...).state", "a server shows the versions of heads only")
        query: Query = {"branch": self.branch}
        form = self.transport.form(Request("GET", "/snapshot", query))
        pins = {
            f"{item['entity_kind']}:{item['type_name']}": TablePin(
                f"{item['entity_kind']}:{item['type_name']}",
                item["dataset_path"],
                0,
                item["published_dataset_version"],
                item["entity_count"],
            )
            for item in form["datasets"]
        }
        head = form.get("graph_commit_id") or self.commit_id
        return RemoteState(form["graph_branch"], head, form["graph_manifest_version"], pins)

    def _display(self) -> Display:
        counts = self.counts()
        lines = [f"{key.partition(':')[2]}: {count:,}" for key, count in counts.items()]
        title = f"Snapshot {self.commit_id} of {self.branch}: {counted(len(self), 'entity', 'entities')}"
        rows = [(*key.split(":", 1), count) for key, count in counts.items()]
        return Display(title, ("kind", "type", "entities"), rows, lines=lines)
