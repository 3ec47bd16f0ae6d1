"""`wire` owns every JSON form: nothing else renders values for callers, and the command line prints only its forms."""

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import Function, Module, modules

RENDERING_WORDS = ("json", "to_dict", "as_dict")

# "room/module.py" -> why it renders JSON itself.
STORED_FORMATS = {
    "core/commit.py": "commits as rows of the commit log",
    "schema/json_form.py": "schemas as they are stored and hashed",
    "lake/external/seal.py": "seals of external tables as they are stored and numbered",
    "storage/stage/descriptions.py": "staged rows as they pass between processes",
    "spark/load/journal.py": "the journal that a killed load is resumed from",
    "history/changes.py": "images in the JSON columns of Arrow tables, for diffs and Spark streams",
}

# Modules of the command line that write JSON which is no answer of a command.
OTHER_JSON = {
    "cli/show/output.py": "say_json itself, whose argument the test below checks",
    "cli/show/logs.py": "log records, a line each",
    "cli/show/machine_formats.py": "values in cells, and rows as JSON lines",
    "cli/args/merge_options.py": "values in tables for people and in error texts",
    "cli/commands/changes.py": "the last line of a baseline file, rendered by wire",
    "cli/commands/demo.py": "parameters of the commands that the tour runs",
    "cli/demo_data.py": "the data of the tour",
}


def _renderers(module: Module) -> Iterator[str]:
    """Functions and methods that are named after JSON and return a mapping."""
    for name, definition in module.definitions():
        if not isinstance(definition, Function) or definition.returns is None:
            continue
        returned = ast.unparse(definition.returns).strip("'\"")
        is_mapping = returned.startswith(("dict", "Mapping", "JsonObject", "list[dict", "list[JsonObject"))
        if is_mapping and any(word in definition.name for word in RENDERING_WORDS):
            yield f"{module.path}:{name}"


def test_only_wire_renders_values_as_json() -> None:
    found = [
        renderer
        for module in modules()
        if module.room != "wire" and module.path not in STORED_FORMATS
        for renderer in _renderers(module)
    ]
    assert not found


def test_every_stored_format_still_renders_json() -> None:
    assert not STORED_FORMATS.keys() - {module.path for module in modules() if list(_renderers(module))}


def _wire_names(module: Module) -> frozenset[str]:
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("omnigraph.wire")
        for alias in node.names
    )


def _is_form(value: ast.expr, names: frozenset[str], function: Function) -> bool:
    """Whether an expression is a form of `wire`: a call, a list of calls, or a variable that holds one."""
    match value:
        case ast.Call(func=ast.Name(id=called)):
            return called in names
        case ast.ListComp(elt=item):
            return _is_form(item, names, function)
        case ast.Name(id=variable):
            assigned = [
                node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Assign)
                and any(isinstance(target, ast.Name) and target.id == variable for target in node.targets)
            ]
            return bool(assigned) and all(_is_form(item, names, function) for item in assigned)
        case _:
            return False


def test_commands_print_only_forms_of_wire() -> None:
    printed = 0
    found = []
    for module in modules():
        names = _wire_names(module)
        for name, function in module.definitions():
            if module.room != "cli" or not isinstance(function, Function):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say_json":
                    printed += 1
                    if not _is_form(node.args[0], names, function):
                        found.append(f"{module.path}:{name}:{node.lineno}")
    assert not found
    assert printed, "no command prints JSON any more: this test looks for the wrong function"


def _writes_json(module: Module) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in {"dump", "dumps"}
        and isinstance(node.value, ast.Name)
        and node.value.id == "json"
        for node in ast.walk(module.tree)
    )


def test_the_command_line_writes_no_json_of_its_own() -> None:
    writers = {module.path for module in modules() if module.room == "cli" and _writes_json(module)}
    assert writers == OTHER_JSON.keys()
