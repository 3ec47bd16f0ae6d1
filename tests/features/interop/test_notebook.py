"""The example notebook: every cell runs in a real kernel, and shows what it promises."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("networkx")

ROOT = Path(__file__).parents[3]
NOTEBOOK = ROOT / "examples" / "notebooks" / "first_steps.ipynb"


def _shown(notebook: Any) -> list[dict[str, str]]:
    """The last display of every cell that has one, by form."""
    cells = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return [outputs[-1]["data"] for outputs in cells if outputs and "data" in outputs[-1]]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_notebook_runs_and_every_display_has_html(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = _shown(notebook)
    pictures = [data["text/html"] for data in shown if "<iframe" in data.get("text/html", "")]
    assert len(pictures) == 2
    tables = [data["text/html"] for data in shown if "<table" in data.get("text/html", "")]
    assert len(tables) >= 8
    assert any("mathematics" in table for table in tables)


def test_the_notebook_is_stored_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
