"""Declared clusters on disk, and the commands run on them."""

from pathlib import Path
from typing import Any

import omnigraph
from omnigraph import Graph
from omnigraph.cluster.control.apply import Application, Planning, apply, plan
from omnigraph.cluster.control.observe import import_cluster
from omnigraph.cluster.control.session import Findings, Operator

SCHEMA = "node Person { name: String @key\n  age: I32? }\n"
WIDER = "node Person { name: String @key\n  age: I32?\n  city: String? }\n"
STRICT = "node Person { name: String @key\n  age: I32 }\n"
EVERYONE = "query everyone() { match { $p: Person } return { $p.name } }"
CITIES = "query cities() { match { $p: Person } return { $p.city } }"
POLICY = """
version: 1
groups: { readers: [ann] }
rules:
  - id: readers-read
    allow: { actors: { group: readers }, actions: [read, invoke_query] }
"""
SERVER_POLICY = """
version: 1
groups: { operators: [ann] }
rules:
  - id: list
    allow: { actors: { group: operators }, actions: [graph_list] }
"""
CONFIG = """
version: 1
graphs: { kb: { schema: kb.pg, queries: queries/ } }
policies: { team: { file: team.yaml, applies_to: [kb] } }
"""


class Declared:
    """A directory with a configuration."""

    def __init__(self, directory: Path, config: str = CONFIG, *, storage: str | None = None, **options: Any) -> None:
        self.directory = directory
        self.storage = storage
        self.operator = Operator(directory, actor="ann", **options)
        self.write("kb.pg", SCHEMA)
        self.write("queries/everyone.gq", EVERYONE)
        self.write("team.yaml", POLICY)
        self.config(config)

    def config(self, text: str) -> None:
        self.write("cluster.yaml", text if self.storage is None else f"{text}\nstorage: {self.storage}\n")

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @property
    def root(self) -> str:
        return self.storage or str(self.directory)

    def file(self, name: str) -> Path:
        """A file of the control plane, of a cluster on this disk."""
        return Path(self.root) / "__cluster" / name

    def graph(self, name: str = "kb") -> Graph:
        return omnigraph.open(f"{self.root}/graphs/{name}.omni", storage_options=self.operator.storage_options)

    def import_(self) -> None:
        assert import_cluster(self.operator).ok

    def plan(self) -> Planning:
        return plan(self.operator)

    def apply(self, expected: str | None = None) -> Application:
        return apply(self.operator, expected)

    def applied(self) -> "Declared":
        """Apply everything, and expect that nothing is left to do."""
        found = self.apply()
        assert (found.converged, found.diagnostics) == (True, [])
        return self

    def changes(self) -> dict[str, str]:
        """The operations of a plan by address."""
        found = self.plan()
        assert found.plan is not None, found.diagnostics
        return {item.address: item.change.operation.value for item in found.plan.changes}


def codes(findings: Findings) -> list[str]:
    """The codes of all diagnostics, sorted."""
    return sorted(item.code for item in findings.diagnostics)
