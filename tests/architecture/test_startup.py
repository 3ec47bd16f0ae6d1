"""The command line feels instant because it loads no library it does not need."""

import re
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

import omnigraph

HEAVY = (
    "boto3",
    "duckdb",
    "lance",
    "langchain_core",
    "langgraph",
    "llama_index",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pydantic",
    "pydantic_core",
    "pyspark",
)

IMPORT = "import omnigraph"
VERSION = """
from omnigraph.cli.main import main
sys.argv = ["omnigraph", "version"]
try:
    status = main()
except SystemExit as exit:
    status = exit.code
assert not status, status
"""


@pytest.mark.parametrize("action", [IMPORT, VERSION], ids=["import", "version"])
def test_starting_up_loads_no_heavy_library(action: str) -> None:
    # A fresh interpreter: this one has loaded whatever other tests wanted.
    report = f"print('loaded:', *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    program = f"import sys\n{action}\n{report}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stderr.strip() == "loaded:"


def test_version_names_the_installed_version() -> None:
    program = f"import sys\n{VERSION}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert version("omnigraph") in run.stdout


SCHEMA = "node Person {\n    key: String @key\n}\n"
QUERY = "query people() { match { $p: Person } return { $p.key } }"

NOT_FOR_A_QUERY = (
    "boto3",
    "cedarpy",
    "deltalake",
    "duckdb",
    "httpx2",
    "igraph",
    "langchain_core",
    "networkx",
    "pandas",
    "polars",
    "pydantic",
    "pyiceberg",
    "pyspark",
    "scipy",
    "starlette",
    "torch",
    "yaml",
)
OWN_MODULES_MAX = 311
"""Our modules that a query on the command line imports. Lower it when the number falls."""


def test_a_query_on_the_command_line_imports_nothing_of_the_extras(tmp_path: Path) -> None:
    omnigraph.create(tmp_path / "graph", SCHEMA)
    program = (
        "import sys\n"
        "from omnigraph.cli.start.without_pandas import refuse_pandas\n"
        "from omnigraph.cli.main import main\n"
        "refuse_pandas()\n"
        f"sys.argv = ['omnigraph', 'query', '--store', {str(tmp_path / 'graph')!r}, '-e', {QUERY!r}]\n"
        "assert main() == 0\n"
        f"print(*[name for name in {NOT_FOR_A_QUERY!r} if name in sys.modules], file=sys.stderr)\n"
        "print(len([name for name in sys.modules if name.startswith('omnigraph')]), file=sys.stderr)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    loaded, count = run.stderr.splitlines()
    assert loaded == ""
    assert int(count) <= OWN_MODULES_MAX


LOOKUP = 'query q() { match { $p: Person { key: "ada" } } return { $p.key } }'
WALK = 'query q() { match { $p: Person { key: "ada" } $p knows $q } return { $q.key, $q.age } }'
REACH = 'query q() { match { $p: Person { key: "ada" } $p knows{1,3} $q } return { $q.key } }'


OWN_MODULES_OF_A_PROGRAM_MAX = {LOOKUP: 263, WALK: 276, REACH: 276}
"""Our modules that a program imports for its first answer. Lower a number when it falls."""


@pytest.mark.parametrize("text", OWN_MODULES_OF_A_PROGRAM_MAX, ids=["lookup", "walk", "reach"])
def test_the_first_answer_of_a_program_needs_few_modules_and_nothing_of_the_extras(tmp_path: Path, text: str) -> None:
    graph = omnigraph.create(
        tmp_path / "graph", "node Person {\n    key: String @key\n    age: I32?\n}\nedge Knows: Person -> Person\n"
    )
    people = [{"type": "Person", "data": {"key": key}} for key in ("ada", "bob")]
    graph.load([*people, {"edge": "Knows", "from": "ada", "to": "bob"}])
    # Arrow imports pandas into a program, as in any other that uses Arrow.
    extras = tuple(name for name in NOT_FOR_A_QUERY if name != "pandas")
    program = (
        "import sys, omnigraph\n"
        f"assert len(list(omnigraph.open({str(tmp_path / 'graph')!r}).query({text!r}))) == 1\n"
        f"print(*[name for name in {extras!r} if name in sys.modules])\n"
        "print(*[name for name in sys.modules if name.startswith('omnigraph')])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    loaded, own = run.stdout.splitlines()
    assert loaded == ""
    assert len(own.split()) <= OWN_MODULES_OF_A_PROGRAM_MAX[text]
    assert [name for name in own.split() if _compiles_methods(name)] == []


def _compiles_methods(module: str) -> bool:
    """True if a module has dataclasses whose methods are compiled when it is imported."""
    found = find_spec(module)
    assert found is not None
    assert found.origin is not None
    text = Path(found.origin).read_text()
    return re.search(r"^from dataclasses import .*\bdataclass\b", text, re.M) is not None and "InitVar" not in text


def test_the_script_ends_with_the_code_and_the_output_of_its_command() -> None:
    program = "import sys\nfrom omnigraph.cli.main import program\nsys.argv[0] = 'omnigraph'\nprogram()"
    good, bad = (
        subprocess.run([sys.executable, "-c", program, word], capture_output=True, text=True, check=False)
        for word in ("version", "nonsense")
    )
    assert (good.returncode, bad.returncode) == (0, 2)
    assert good.stdout.startswith("omnigraph ")
    assert bad.stderr.startswith("error: ")


def test_pandas_is_refused_but_seen_until_spark_needs_it() -> None:
    program = (
        "import importlib.util\n"
        "from omnigraph.cli.start.without_pandas import refuse_pandas\n"
        "refuse_pandas()\n"
        "assert importlib.util.find_spec('pandas') is not None\n"
        "try:\n    import pandas\n    raise SystemExit('imported')\nexcept ModuleNotFoundError:\n    pass\n"
        "import pyspark\nimport pandas\nassert pandas.DataFrame"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
