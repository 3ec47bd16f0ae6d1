"""What `omnigraph` promises to its users is a short list, and every name on it explains itself."""

import inspect

import omnigraph

# A name added here is a promise: removing or renaming it later breaks somebody's program.
PROMISED = {
    "Graph": "an open graph, for annotations and isinstance",
    "OmnigraphError": "the root of every error we raise, for callers who catch them all",
    "__version__": "the version of the installed package",
    "create": "makes a graph",
    "open": "opens a graph",
    "repair": "mends a graph that may be too damaged to be opened",
}


def test_public_names_are_exactly_the_promised_ones_in_order() -> None:
    assert list(omnigraph.__all__) == sorted(PROMISED)


def test_every_public_name_resolves_and_is_documented() -> None:
    undocumented = []
    for name in omnigraph.__all__:
        value = getattr(omnigraph, name)
        # A constant's documentation would be that of its type, which says nothing about it.
        explains_itself = inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)
        if explains_itself and not (inspect.getdoc(value) or "").strip():
            undocumented.append(name)
    assert not undocumented


def test_asking_for_an_unknown_name_is_an_attribute_error() -> None:
    # A lazy `__getattr__` that raises anything else breaks hasattr, copy and pickling.
    assert not hasattr(omnigraph, "no_such_name")
