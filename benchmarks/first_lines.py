"""The lines that a newcomer writes from two everyday CSV files to the first answer, beside Ladybug and DuckDB.

Run: ``python -m benchmarks.first_lines``, in an environment with the peers (``benchmarks/requirements.txt``). Every
program is executed as it is printed, in a new directory, and its answer is compared; a peer that is not installed is
left out. Empty lines and imports count like all others, because they have to be written too.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PEOPLE = "id,name,age\n1,Ann,41\n2,Ben,33\n3,Cy,27\n"
KNOWS = "src,dst,since\n1,2,2019\n2,3,2021\n"
ANSWER = [("Ann", "Ben"), ("Ben", "Cy")]

_GQ = "query q() { match { $a: Person $a knows $b } return { $a.name, $b.name } }"
_SQL = "select a.name, b.name from {knows} k join {people} a on a.id = src join {people} b on b.id = dst"
_CYPHER = "MATCH (a:Person)-[:Knows]->(b:Person) RETURN a.name, b.name"
_LADYBUG = """\
import ladybug
{imports}connection = ladybug.Connection(ladybug.Database("graph.lb"))
{frames}connection.execute("CREATE NODE TABLE Person(id INT64 PRIMARY KEY, name STRING, age INT64)")
connection.execute("CREATE REL TABLE Knows(FROM Person TO Person, since INT64)")
connection.execute("COPY Person FROM {people}")
connection.execute("COPY Knows FROM {knows}")
answer = connection.execute("{query}").get_all()
"""
_FILES = {"imports": "", "frames": "", "people": "'people.csv' (HEADER=true)", "knows": "'knows.csv' (HEADER=true)"}


def _ladybug(library: str, people: str, knows: str) -> str:
    frames = f"people = {people}\nknows = {knows}\n"
    return _LADYBUG.format(query=_CYPHER, imports=f"import {library}\n", frames=frames, people="people", knows="knows")


PROGRAMS = {
    "CSV files": {
        "omnigraph": f"""\
import omnigraph
answer = omnigraph.create("g.omni", ["people.csv", "knows.csv"]).query("{_GQ}")
""",
        "ladybug": _LADYBUG.format(query=_CYPHER, **_FILES),
        "duckdb": f"""\
import duckdb
answer = duckdb.sql("{_SQL.format(people="'people.csv'", knows="'knows.csv'")}").fetchall()
""",
    },
    "pandas": {
        "omnigraph": f"""\
import omnigraph
import pandas
graph = omnigraph.create("g.omni", {{"Person": pandas.read_csv("people.csv"), "Knows": pandas.read_csv("knows.csv")}})
answer = graph.query("{_GQ}")
""",
        "ladybug": _ladybug("pandas", 'pandas.read_csv("people.csv")', 'pandas.read_csv("knows.csv")'),
        "duckdb": f"""\
import duckdb
import pandas
people = pandas.read_csv("people.csv")
knows = pandas.read_csv("knows.csv")
answer = duckdb.sql("{_SQL.format(people="people", knows="knows")}").fetchall()
""",
    },
    "polars": {
        "omnigraph": f"""\
import omnigraph
import polars
graph = omnigraph.create("g.omni", {{"Person": polars.read_csv("people.csv"), "Knows": polars.read_csv("knows.csv")}})
answer = graph.query("{_GQ}")
""",
        "ladybug": _ladybug("polars", 'polars.read_csv("people.csv")', 'polars.read_csv("knows.csv")'),
        "duckdb": f"""\
import duckdb
import polars
people = polars.read_csv("people.csv")
knows = polars.read_csv("knows.csv")
answer = duckdb.sql("{_SQL.format(people="people", knows="knows")}").fetchall()
""",
    },
    "DuckDB relations": {
        "omnigraph": f"""\
import duckdb
import omnigraph
graph = omnigraph.create("g.omni", {{"Person": duckdb.read_csv("people.csv"), "Knows": duckdb.read_csv("knows.csv")}})
answer = graph.query("{_GQ}")
""",
        "ladybug": _ladybug(
            "duckdb", "duckdb.sql(\"from 'people.csv'\").df()", "duckdb.sql(\"from 'knows.csv'\").df()"
        ),
        "duckdb": f"""\
import duckdb
people = duckdb.sql("from 'people.csv'")
knows = duckdb.sql("from 'knows.csv'")
answer = duckdb.sql("{_SQL.format(people="people", knows="knows")}").fetchall()
""",
    },
    "command line": {
        "omnigraph": f"""\
omnigraph import people.csv knows.csv --into g.omni
omnigraph query --store g.omni -e '{_GQ}' --format csv
""",
    },
}

_CHECK = """
rows = answer if isinstance(answer, list) else answer.to_dicts()
print(sorted(tuple(row.values() if isinstance(row, dict) else row) for row in rows))
"""


def answered(program: str, *, is_shell: bool) -> bool:
    """Run a program as it stands; True if it finds the two pairs."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "people.csv").write_text(PEOPLE, encoding="utf-8")
        Path(place, "knows.csv").write_text(KNOWS, encoding="utf-8")
        if is_shell:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            command, environment = ["bash", "-ec", program], os.environ | {"PATH": path}
        else:
            command, environment = [sys.executable, "-c", program + _CHECK], dict(os.environ)
        ran = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        if ran.returncode:
            print(ran.stderr[-800:], file=sys.stderr)
            return False
        if is_shell:
            found = sorted(line for line in ran.stdout.splitlines() if line.startswith(("Ann,", "Ben,")))
            return found == [",".join(map(str, row)) for row in ANSWER]
        return ran.stdout.splitlines()[-1] == str(ANSWER)


def main() -> None:
    print("| Source | " + " | ".join(("omnigraph", "ladybug", "duckdb")) + " |\n|---|---|---|---|")
    for source, programs in PROGRAMS.items():
        cells = []
        for system in ("omnigraph", "ladybug", "duckdb"):
            program = programs.get(system)
            if program is None:
                cells.append("-")
            elif importlib.util.find_spec(system) is None:
                cells.append("not installed")
            else:
                lines = program.count("\n")
                is_right = answered(program, is_shell=source == "command line")
                cells.append(f"{lines}" if is_right else f"{lines}, failed")
        print(f"| {source} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
