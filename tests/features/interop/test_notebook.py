"""The example notebook: every cell runs in a real kernel, and shows what it promises."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.features.page.browsers import COLOURS, Watched, chromium, until

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("networkx")

ROOT = Path(__file__).parents[3]
NOTEBOOK = ROOT / "examples" / "notebooks" / "first_steps.ipynb"


def _shown(notebook: Any) -> list[dict[str, str]]:
    """The last display of every cell that has one, by form."""
    cells = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return [outputs[-1]["data"] for outputs in cells if outputs and "data" in outputs[-1]]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """The displays of the notebook, after every cell has run."""
    place = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("TMPDIR", str(place))
        patch.setenv("IPYTHONDIR", str(place / "ipython"))
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return _shown(notebook)


def _pictures(shown: list[dict[str, str]]) -> list[str]:
    return [data["text/html"] for data in shown if "<iframe" in data.get("text/html", "")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_notebook_runs_and_every_display_has_html(shown: list[dict[str, str]]) -> None:
    assert len(_pictures(shown)) == 3
    tables = [data["text/html"] for data in shown if "<table" in data.get("text/html", "")]
    assert len(tables) >= 8
    assert any("mathematics" in table for table in tables)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_browser_draws_every_picture_of_the_notebook(shown: list[dict[str, str]], tmp_path: Path) -> None:
    (tmp_path / "notebook.html").write_text(f"<!doctype html>{''.join(_pictures(shown))}", encoding="utf-8")
    with chromium() as browser:
        # All pictures are in view: a browser gives no frames to animations outside of it.
        page = browser.new_page(viewport={"width": 1200, "height": 2000})
        watched = Watched()
        watched.watch(page)
        page.goto((tmp_path / "notebook.html").as_uri())
        frames = page.frames[1:]
        for frame in frames:
            frame.locator("[data-drawn] canvas").wait_for()
            until(frame, f"({COLOURS})(document.querySelector('[data-drawn] canvas')) > 5")
    assert (len(frames), watched.errors, watched.hosts()) == (3, [], set())


def test_the_notebook_is_stored_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
