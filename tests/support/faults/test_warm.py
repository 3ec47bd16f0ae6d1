"""A copy of the warm interpreter behaves like a program that was started."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from tests.promises.crash.sweep import PROGRAM
from tests.promises.crash.writers import build
from tests.support.faults.child import environment, python
from tests.support.faults.fault import KillAt
from tests.support.faults.tracer import TracerError, run, trace
from tests.support.faults.warm import warm_interpreter


def _ending(script: Path, code: str) -> tuple[int, str, str]:
    script.write_text(code, encoding="utf-8")
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        with warm_interpreter().turn() as turn:
            turn.launch(python(script, "one", "two"), environment(None) | {"COLOUR": "red"}, stdout, stderr)
            returncode = turn.wait()
        stdout.seek(0)
        stderr.seek(0)
        return returncode, stdout.read(), stderr.read()


def test_a_copy_has_arguments_environment_and_exit_code_of_its_own(tmp_path: Path) -> None:
    code = "import os, sys\nprint(sys.argv[1:], os.environ['COLOUR'], __name__)\nsys.exit(7)"
    assert _ending(tmp_path / "s.py", code) == (7, "['one', 'two'] red __main__\n", "")


def test_a_copy_that_raises_or_is_killed_says_so(tmp_path: Path) -> None:
    returncode, _, stderr = _ending(tmp_path / "s.py", "raise ValueError('x')")
    assert (returncode, "ValueError: x" in stderr) == (1, True)
    assert _ending(tmp_path / "s.py", "import os\nos.kill(os.getpid(), 9)")[0] == -9


def test_a_copy_leaves_no_trace_in_the_next(tmp_path: Path) -> None:
    """A program may change a module of the package; the next one must not see that."""
    code = "from omnigraph.write import limits\nprint(limits.FENCES_MAX)\nlimits.FENCES_MAX = -1"
    first, second = (_ending(tmp_path / "s.py", code) for _ in range(2))
    assert first == second
    assert first[0] == 0


def test_everything_heavy_is_imported_before_the_copy_by_one_thread(tmp_path: Path) -> None:
    code = """
import os, sys
heavy = {'lance', 'pyarrow', 'duckdb', 'obstore', 'tests.promises.crash.writers'}
print(len(os.listdir('/proc/self/task')), heavy <= set(sys.modules))
"""
    assert _ending(tmp_path / "s.py", code) == (0, "1 True\n", "")


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize("writer", ["insert", "bulk-append", "optimize"])
def test_a_writer_makes_the_same_calls_in_a_copy(writer: str, tmp_path: Path) -> None:
    base, root = tmp_path / "base", tmp_path / "graph"
    build(writer, base)
    shapes = []
    for warm in (False, True):
        shutil.copytree(base, root)
        traced = trace(python(PROGRAM, writer, root), root=root, warm=warm)
        assert traced.returncode == 0, traced.stderr
        shapes.append(Counter(call.name for call in traced.calls))
        shutil.rmtree(root)
    assert shapes[0] == shapes[1]


@pytest.mark.usefixtures("tracing")
def test_a_copy_dies_at_the_chosen_call(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text(
        "import sys\n"
        "from tests.support.faults.window import armed\n"
        "with armed():\n  for n in range(4): open(f'{sys.argv[1]}/{n}', 'w').close()\n",
        encoding="utf-8",
    )
    root = tmp_path / "root"
    root.mkdir()
    assert run(python(script, root), root=root, fault=KillAt(3), warm=True).killed
    assert sorted(path.name for path in root.iterdir()) == ["0", "1"]


@pytest.mark.usefixtures("tracing")
def test_a_copy_that_does_not_end_is_ended(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("import signal; signal.pause()", encoding="utf-8")
    with pytest.raises(TracerError, match="did not end"):
        run(python(script), root=tmp_path, fault=None, warm=True, timeout_s=0.5)
    assert _ending(script, "print('next')")[1] == "next\n"
