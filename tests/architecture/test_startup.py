"""The command line feels instant because it loads no library it does not need."""

import subprocess
import sys
from importlib.metadata import version

import pytest

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
