"""Results about external types. Their JSON forms are in ``omnigraph.wire``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.tables import changes_display


@dataclass(frozen=True, slots=True, repr=False)
class ExternalTypeInfo(Displayed):
    """An external type and the version of its table that a commit pins."""

    kind: str
    name: str
    format: str
    address: str
    version: str | None
    """The snapshot or version of an Iceberg or Delta table."""
    files: int
    bytes: int
    rows: int
    problem: str | None = None
    """The first file that is not as it was sealed, if the files were compared."""

    def _display(self) -> Display:
        version = "" if self.version is None else f", version {self.version}"
        state = "" if self.problem is None else f", not readable: {self.problem}"
        size = f"{counted(self.rows, 'row')} in {counted(self.files, 'file')}, {counted(self.bytes, 'byte')}"
        return Display(f"{self.kind} {self.name}: {self.format} at {self.address}{version}, {size}{state}")


class ExternalTypeList(list[ExternalTypeInfo]):
    """External types, shown one a line."""

    def __init__(self, types: Iterable[ExternalTypeInfo] = ()) -> None:
        super().__init__(types)

    def __repr__(self) -> str:
        return self._display().text()

    def _repr_html_(self) -> str:
        return self._display().html()

    def _display(self) -> Display:
        names = ("type", "format", "address", "version", "files", "rows")
        rows = [(item.name, item.format, item.address, item.version, item.files, item.rows) for item in self]
        return Display(f"external types: {len(self):,}", names, rows, lines=[repr(item) for item in self])


@dataclass(frozen=True, slots=True, repr=False)
class RefreshResult(Displayed):
    """Outcome of a refresh. ``commit`` is None if all tables were sealed as they are already."""

    branch: str
    types: tuple[str, ...]
    """The types that were read."""
    actor: str | None
    commit: GraphCommit | None
    remarks: tuple[str, ...] = ()
    """Facts that are no violations, such as properties without a column."""
    repeated: bool = False

    def _display(self) -> Display:
        made = "nothing is newer, no commit" if self.commit is None else f"commit {self.commit.id}"
        title = f"RefreshResult {', '.join(self.types) or 'without types'} on {self.branch}: {made}"
        return changes_display(title, () if self.commit is None else self.commit.tables, self.remarks)
