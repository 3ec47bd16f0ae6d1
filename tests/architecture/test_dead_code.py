"""A name that a module declares is used: in the module, or by a file that imports it."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.architecture.source_tree import PACKAGE, REPOSITORY, modules

_READERS = ("src", "tests", "benchmarks", "docs", "examples")

# "lang/parser.py:name" -> who uses it without an import or its name.
EXCEPTIONS: dict[str, str] = {}


@dataclass
class Uses:
    """Names that one file uses: its own, those it imports by module, attributes it reads, short texts it holds."""

    own: set[str] = field(default_factory=set)
    imports: set[tuple[str, str]] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)


def uses(tree: ast.Module) -> Uses:
    """The names a file uses."""
    found = Uses()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                found.imports |= {(module, alias.name) for alias in names}
                found.modules |= {f"{module}.{alias.name}" for alias in names}
            case ast.Import(names=names):
                found.modules |= {alias.name for alias in names}
            case ast.Attribute(attr=name):
                found.attributes.add(name)
            case ast.Name(id=name, ctx=ast.Load()):
                found.own.add(name)
            case ast.Constant(value=str(text)):
                # A name that is looked up at run time: `getattr(module, "name")`, "module:name" of a lazy import.
                found.texts.add(text.rpartition(":")[2].rpartition(".")[2])
    return found


def declared(tree: ast.Module) -> Iterator[str]:
    """Functions, classes and constants at the top level of a module."""
    for statement in tree.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _is_registered(statement):
                continue
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def _is_registered(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """`@group.command(...)` hands the function to its group, which calls it."""
    calls = [decorator.func for decorator in function.decorator_list if isinstance(decorator, ast.Call)]
    return any(isinstance(call, ast.Attribute) and call.attr == "command" for call in calls)


def dead(sources: dict[str, ast.Module], readers: Iterable[ast.Module]) -> list[str]:
    """`module:name` of declarations that neither their module nor a reader uses. `sources` has dotted names."""
    files = [uses(tree) for tree in readers]
    imports: set[tuple[str, str]] = set().union(*(file.imports for file in files))
    texts: set[str] = set().union(*(file.texts for file in files))
    attributes: dict[str, set[str]] = {module: set() for module in sources}
    for file in files:
        for module in file.modules & sources.keys():
            attributes[module] |= file.attributes
    found = []
    for module, tree in sources.items():
        own = uses(tree).own
        for name in declared(tree):
            is_used = name in own or name in attributes[module] or name in texts or (module, name) in imports
            if not is_used and not name.startswith("__"):
                found.append(f"{module}:{name}")
    return found


def _readers() -> Iterator[ast.Module]:
    for place in _READERS:
        for file in sorted((REPOSITORY / place).rglob("*.py")):
            yield ast.parse(file.read_text(encoding="utf-8"))


def _dotted(path: str) -> str:
    parts = (PACKAGE.name / Path(path)).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _dead() -> list[str]:
    return dead({_dotted(module.path): module.tree for module in modules()}, _readers())


def test_every_declaration_is_used() -> None:
    found = _dead()
    assert [place for place in found if place not in EXCEPTIONS] == []
    assert EXCEPTIONS.keys() <= set(found), "an exception is no longer needed"


def test_an_unused_declaration_is_found() -> None:
    source = ast.parse("LIMIT = 3\nSPARE: int = 4\n\ndef used() -> int:\n    return LIMIT\n\nclass Unused:\n    pass\n")
    # The same names of another module are no use of these.
    reader = ast.parse("from omnigraph.a import used\nfrom omnigraph.b import SPARE\nprint(used(), other.Unused)\n")
    assert dead({"omnigraph.a": source}, [reader]) == ["omnigraph.a:SPARE", "omnigraph.a:Unused"]


def test_names_found_through_their_module_or_a_text_are_used() -> None:
    source = ast.parse("def run() -> None: ...\ndef stop() -> None: ...\n")
    reader = ast.parse('from omnigraph import a\na.run()\nlazy = "omnigraph.a:stop"\n')
    assert dead({"omnigraph.a": source}, [reader]) == []
