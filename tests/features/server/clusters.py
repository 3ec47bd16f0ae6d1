"""Clusters on disk, as applying a configuration leaves them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph import Graph

SCHEMA = "node Person { name: String @key\n  age: I32? }"
EVERYONE = "query everyone() { match { $p: Person } return { $p.name } }"
POLICY = """
version: 1
groups: { readers: [ann], writers: [bob] }
protected_branches: [main]
rules:
  - id: everyone-reads
    allow: { actors: { group: readers }, actions: [read] }
  - id: writers-read
    allow: { actors: { group: writers }, actions: [read, invoke_query] }
  - id: writers-write-branches
    allow: { actors: { group: writers }, actions: [change], branch_scope: unprotected }
"""
SERVER_POLICY = """
version: 1
groups: { operators: [ann] }
rules:
  - id: list
    allow: { actors: { group: operators }, actions: [graph_list] }
"""


class Cluster:
    """A cluster below a directory. Changes are written by `apply`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.resources: dict[str, dict[str, Any]] = {}
        self.extra: dict[str, Any] = {}
        (root / "__cluster").mkdir(parents=True)
        (root / "cluster.yaml").write_text("version: 1\n")

    def graph(self, name: str, **facts: Any) -> Graph:
        graph = omnigraph.create(self.root / "graphs" / f"{name}.omni", SCHEMA, durability="os")
        self.resources[f"graph.{name}"] = {"digest": _digest(name.encode()), **facts}
        return graph

    def query(self, graph: str, name: str, text: str) -> Path:
        return self._payload(f"query.{graph}.{name}", f"query/{graph}/{name}", "gq", text, {})

    def policy(self, name: str, text: str, applies_to: list[str]) -> Path:
        return self._payload(f"policy.{name}", f"policy/{name}", "yaml", text, {"applies_to": applies_to})

    def token(self, actor: str, reference: str) -> Path:
        return self._payload(f"token.{actor}", f"token/{actor}", "txt", reference, {})

    def _payload(self, address: str, folder: str, suffix: str, text: str, facts: dict[str, Any]) -> Path:
        digest = _digest(text.encode())
        file = self.root / "__cluster" / "resources" / folder / f"{digest}.{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.resources[address] = {"digest": digest, **facts}
        return file

    def apply(self) -> None:
        state = {
            "version": 1,
            "state_revision": 1,
            "applied_revision": {"config_digest": _digest(b""), "resources": self.resources},
            "resource_statuses": {name: {"status": "applied"} for name in self.resources},
            "approval_records": {},
            "recovery_records": {},
            "observations": {},
            **self.extra,
        }
        (self.root / "__cluster" / "state.json").write_text(json.dumps(state))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
