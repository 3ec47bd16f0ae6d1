"""Errors in notebooks: IPython shows the caller's code and our message, and nothing of our inside."""

import sys
import traceback
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import NotFoundError

pytest.importorskip("IPython")

CELLS = """
import omnigraph
graph = omnigraph.open({root!r})

QUERY = "query q($name: String) {{ match {{ $p: Person {{ name: $name }} }} return {{ $p.name }} }}"

def ask(name):
    return graph.query(QUERY, {{"nam": name}})
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("notebook") / "g"
    omnigraph.create(root, "node Person { name: String @key }", durability="os")
    return root


def test_ipython_shows_the_callers_frames_and_the_message(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        shell.run_cell(CELLS.format(root=str(root)), store_history=True)
        capsys.readouterr()
        result = shell.run_cell("ask('Ada')", store_history=True)
        shown = capsys.readouterr().out
    finally:
        InteractiveShell.clear_instance()
    assert result.error_in_exec is not None
    lines = shown.strip().splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].strip() == "Cell In[2], line 1"
    assert [line.strip() for line in lines[2:5]][:1] == ["ask('Ada')"]
    assert ", in ask" in lines[3]
    assert lines[-2] == "ParameterError (bad_parameter): the query has no parameter 'nam'"
    assert lines[-1] == "  hint: did you mean `name`?; the query declares $name: String"
    assert "omnigraph/engine" not in shown


def test_plain_python_keeps_the_whole_traceback(root: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        omnigraph.open(root).snapshot("nowhere")
    whole = "".join(traceback.format_exception(caught.value))
    assert "omnigraph/manifest" in whole
    short = caught.value._render_traceback_()
    assert short[-1].startswith("NotFoundError (not_found): there is no branch 'nowhere'")
    assert not any("omnigraph/manifest" in line for line in short)
    assert any(Path(__file__).name in line for line in short)


def test_an_error_that_was_never_raised_is_its_message_alone() -> None:
    assert NotFoundError("gone")._render_traceback_() == ["NotFoundError (not_found): gone"]
    assert "omnigraph.core.calls.tracebacks" in sys.modules
