"""The public names of `omnigraph`: every type that a method of a graph returns, and each documented."""

import ast
import inspect
import re
import subprocess
import sys

import pytest

import omnigraph
from tests.architecture.source_tree import modules

# Names in annotations of the API page that callers do not need: typing, the standard library, Spark's own values.
FOREIGN = frozenset({"Any", "Answer", "Iterator", "dict", "int", "list", "str", "bytes", "Mapping", "None"})


def _methods() -> list[ast.FunctionDef]:
    [page] = [module for module in modules() if module.path == "engine/graph.py"]
    [graph] = [node for node in page.tree.body if isinstance(node, ast.ClassDef)]
    return [node for node in graph.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]


def _returned() -> set[str]:
    texts = [ast.unparse(method.returns) for method in _methods() if method.returns is not None]
    return {name for text in texts for name in re.findall(r"\w+", text)} - FOREIGN


def test_every_type_that_a_method_returns_has_a_public_address() -> None:
    assert len(_returned()) > 20
    assert not _returned() - set(omnigraph.__all__)


def test_the_graph_is_one_class_on_one_page() -> None:
    assert omnigraph.Graph.__bases__ == (object,)


def test_every_method_of_the_graph_hands_over_within_six_lines() -> None:
    long = {}
    for method in _methods():
        body = method.body[1:] if ast.get_docstring(method) else method.body
        lines = {line for statement in body for node in ast.walk(statement) if (line := getattr(node, "lineno", 0))}
        if len(lines) > 6:
            long[method.name] = len(lines)
    assert not long


def test_public_names_are_sorted_and_all_have_a_module() -> None:
    assert list(omnigraph.__all__) == sorted(omnigraph.__all__)
    assert {"create", "open", "repair", "Graph", "OmnigraphError"} <= set(omnigraph.__all__)


@pytest.mark.parametrize("name", omnigraph.__all__)
def test_every_public_name_resolves_and_is_documented(name: str) -> None:
    value = getattr(omnigraph, name)
    if name != "__version__":
        assert (inspect.getdoc(value) or "").strip()
        assert getattr(value, "__name__", name) in {name, "open_graph"}


def test_completion_shows_the_public_names_before_any_is_used() -> None:
    # A fresh interpreter: here the names have been used, and thereby bound.
    program = "import omnigraph; print(*dir(omnigraph))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert shown == sorted(omnigraph.__all__)


def test_asking_for_an_unknown_name_is_an_attribute_error() -> None:
    # A lazy `__getattr__` that raises anything else breaks hasattr, copy and pickling.
    assert not hasattr(omnigraph, "no_such_name")
