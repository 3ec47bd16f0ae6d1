"""``init``: the files of a small cluster to start from. Existing files are never overwritten."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from omnigraph.cluster.config import FILE_NAME
from omnigraph.cluster.control.observe import import_cluster
from omnigraph.cluster.control.session import Findings, Operator
from omnigraph.cluster.diagnostics import Refused
from omnigraph.cluster.resources import is_graph_id

_CONFIG: Final = """\
version: 1
graphs:
  {graph}:
    schema: {graph}.pg
    queries: queries/
policies:
  team:
    file: policies/team.yaml
    applies_to: [{graph}]
"""
_SCHEMA: Final = """\
node Person {
  name: String @key
  age: I32?
}

edge Knows: Person -> Person
"""
_QUERY: Final = """\
query everyone() {
  match {
    $p: Person
  }
  return { $p.name, $p.age }
  order { $p.name asc }
}
"""
_POLICY: Final = """\
version: 1
groups:
  team: [{actor}]
protected_branches: [main]
rules:
  - id: team-reads
    allow: {{ actors: {{ group: team }}, actions: [read, invoke_query, export] }}
  - id: team-writes
    allow: {{ actors: {{ group: team }}, actions: [change], branch_scope: any }}
  - id: team-branches
    allow: {{ actors: {{ group: team }}, actions: [branch_create, branch_merge, branch_delete] }}
"""


@dataclass(slots=True)
class Starting(Findings):
    """The files that were written."""

    files: list[str] = field(default_factory=list)


def init(operator: Operator, graph: str) -> Starting:
    """Write a configuration with one graph, its schema, a stored query and a policy, and the first state."""
    found = Starting()
    with found.collected():
        if not is_graph_id(graph):
            raise Refused("invalid_resource_id", graph, f"{graph!r} is no id of a graph: use letters, digits, hyphens")
        actor = operator.actor or "owner"
        files = {
            FILE_NAME: _CONFIG.format(graph=graph),
            f"{graph}.pg": _SCHEMA,
            "queries/everyone.gq": _QUERY,
            "policies/team.yaml": _POLICY.format(actor=actor),
        }
        present = [name for name in files if (operator.directory / name).exists()]
        if present:
            message = f"{', '.join(present)} exists already in {operator.directory}"
            raise Refused("config_already_exists", present[0], message)
        for name, text in files.items():
            _write(operator.directory / name, text)
            found.files.append(name)
        found.diagnostics += import_cluster(operator).diagnostics
    return found


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Refused(
            "config_write_error", str(path), f"{path} cannot be written: {error.strerror or error}"
        ) from error
