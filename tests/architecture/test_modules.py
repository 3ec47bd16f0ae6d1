"""The form every module has: it says what it owns, imports absolutely, and packages only gather names."""

import ast

from tests.architecture.source_tree import Module, modules

# The package root may load its names on first use, to keep `import omnigraph` instant.
ROOT_FUNCTIONS = frozenset({"__getattr__", "__dir__"})


def test_every_module_says_what_it_owns() -> None:
    assert not [module.path for module in modules() if not (ast.get_docstring(module.tree) or "").strip()]


def test_no_import_is_relative() -> None:
    found = [
        f"{module.path}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert not found


def test_no_import_takes_everything() -> None:
    found = [
        f"{module.path}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert not found


def test_a_package_file_is_a_docstring_and_the_public_names() -> None:
    found = [
        f"{module.path}:{statement.lineno}"
        for module in modules()
        if module.path.endswith("__init__.py")
        for statement in module.tree.body
        if not _gathers_names(module, statement)
    ]
    assert not found


def _gathers_names(module: Module, statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="plug_in"))):
            # Spark's workers import single modules, so the ports are connected as soon as any of them is.
            return module.path == "__init__.py"
        case ast.Expr(value=ast.Call(func=ast.Name(id="at_start"))):
            # Sessions stand below the data source, so only their package can register one with the other.
            return module.path == "spark/__init__.py"
        case _:
            return module.path == "__init__.py" and _loads_lazily(statement)


def _loads_lazily(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef(name=name):
            return name in ROOT_FUNCTIONS
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=[]):
            return all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in body)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name == "__version__" or name.startswith("_")
        case _:
            return False
