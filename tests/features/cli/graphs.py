"""A small graph for the tests of the commands that work on one."""

import json
from pathlib import Path

from click.testing import Result

from tests.features.cli.run import run

SCHEMA = """node Person {
  name: String @key
  age: I32?
  @range(age, 0..150)
}

node City {
  name: String @key
}

edge Knows: Person -> Person {
  since: Date?
}
"""

LINES = [
    {"type": "Person", "data": {"name": "Ada", "age": 36}},
    {"type": "Person", "data": {"name": "Alan"}},
    {"type": "City", "data": {"name": "London"}},
    {"edge": "Knows", "from": "Ada", "to": "Alan", "data": {"id": "k1", "since": "2020-01-15"}},
]

ADD = "query add($name: String) { insert Person { name: $name } }"


def write_lines(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def as_json(*words: object, **settings: object) -> dict[str, object]:
    """The document of a run that has to succeed."""
    result = run(*words, "--json", **settings)  # type: ignore[arg-type]
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


def add(graph: Path, name: str, *words: object) -> Result:
    return run("mutate", "--store", graph, "-e", ADD, "--params", json.dumps({"name": name}), *words)


def head(graph: Path, branch: str = "main") -> str:
    return str(as_json("snapshot", graph, "--branch", branch)["graph_commit_id"])


def exported(graph: Path, *words: object) -> str:
    result = run("export", graph, *words)
    assert result.exit_code == 0, result.output
    return result.stdout


def everything(root: Path) -> dict[str, bytes]:
    """Every file below a directory: equal before and after means that nothing was changed."""
    return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}
