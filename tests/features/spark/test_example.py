"""The example of tables that become a graph, ``examples/company``: its script does what it says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.engine.graph import open_graph
from tests.features.cli.run import EXAMPLES, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPANY = EXAMPLES / "company"
STAFF = [
    ("Amira Solberg", "Tidewheel Power"),
    ("Dalia Fenwick", "Gridlark"),
    ("Freya Okonjo", "Tidewheel Power"),
    ("Jun Ashgrove", "Suncask"),
]


def commands_of_the_script(graph: Path, place: Path) -> list[list[str]]:
    """The commands that ``load.sh`` gives, in order. They are run here, in the session that is there already."""
    recorder = place / "recorder"
    recorder.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\nprintf "\\n\\0"\n')
    recorder.chmod(0o755)
    script = ["bash", str(COMPANY / "load.sh"), str(graph)]
    done = subprocess.run(
        script, env={"OMNIGRAPH": str(recorder), "PATH": "/usr/bin:/bin"}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [command.split("\0")[:-1] for command in done.stdout.decode().split("\n\0")[:-1]]


def test_the_script_loads_the_tables_and_the_query_finds_who_works_in_energy(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "company.omni"
    commands = commands_of_the_script(path, tmp_path)
    assert [command[0] for command in commands] == ["init", "load", "query"]
    for command in commands[:-1]:
        done = run(*command)
        assert done.exit_code == 0, done.output
    answer = run(*commands[-1], "--json")
    assert answer.exit_code == 0, answer.output
    assert [(row["p.name"], row["company"]) for row in json.loads(answer.stdout)["rows"]] == STAFF
    graph = open_graph(path)
    counts = {"node:Person": 15, "node:Company": 15, "edge:WorksAt": 12, "edge:WorkedAt": 4}
    assert graph.snapshot().counts() == counts
    again = run("load", path, "--mapping", COMPANY / "mapping.yaml", "--mode", "merge")
    assert again.exit_code == 0, again.output
    assert graph.snapshot().counts() == counts, "edges with ids of their own are replaced, not doubled"
