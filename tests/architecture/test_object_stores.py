"""Object stores are rows of one table: only `storage/objects` names a provider, and every row is a whole backend."""

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

from omnigraph.storage.objects.backends import backend_at, backend_of, backends, parse_root
from omnigraph.storage.objects.protocol import Backend
from tests.architecture.source_tree import Module, modules

PROVIDER = re.compile(r"(?<![a-z0-9])(?:s3a?(?![0-9])|aws(?![a-z])|minio)", re.IGNORECASE)
OWNER = "storage/objects/"

# Package -> why its docstrings and help texts may show an address of one provider. Code and comments never may.
TEXTS_FOR_USERS = {
    "cli": "help texts show users one address as an example",
    "engine": "docstrings of the public API show users one address as an example",
    "spark": "docstrings of the public API show users one address as an example",
}


def _texts_for_users(module: Module) -> Iterator[range]:
    """The lines of docstrings and of `help=...`."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.keyword(arg="help"):
                assert node.end_lineno is not None
                yield range(node.lineno, node.end_lineno + 1)


def _mentions(module: Module) -> Iterator[int]:
    is_for_users = module.room in TEXTS_FOR_USERS
    excused = {line for lines in _texts_for_users(module) for line in lines} if is_for_users else set()
    for number, line in enumerate(module.text.splitlines(), 1):
        if number not in excused and PROVIDER.search(line):
            yield number


def test_no_module_outside_the_object_stores_names_a_provider() -> None:
    found = [
        f"{module.path}:{line}"
        for module in modules()
        if not module.path.startswith(OWNER)
        for line in _mentions(module)
    ]
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        'x = "s3://bucket"\n',
        "is_s3 = 1\n",
        "class S3Objects: ...\n",
        'f"s3a://{1}"\n',
        "# for S3\n",
        'x = "AWS_REGION"\n',
    ],
)
def test_a_provider_is_found_in_names_texts_and_comments(source: str) -> None:
    assert list(_mentions(Module("write/x.py", source, ast.parse(source))))


@pytest.mark.parametrize("source", ["steps3 = 1\n", "draws = 1\n", "ends30 = 1\n", 'x = "is3"\n'])
def test_a_number_after_other_letters_is_no_provider(source: str) -> None:
    assert not list(_mentions(Module("write/x.py", source, ast.parse(source))))


def test_every_excuse_is_still_needed() -> None:
    mentioned = {module.room for module in modules() if PROVIDER.search(module.text)}
    assert not TEXTS_FOR_USERS.keys() - mentioned


@pytest.mark.parametrize("backend", backends(), ids=lambda backend: backend.schemes[0])
def test_every_backend_implements_the_whole_protocol(backend: Backend) -> None:
    for name, declared in vars(Backend).items():
        if name.startswith("_"):
            continue
        assert hasattr(backend, name), name
        if not isinstance(declared, property):
            wanted = list(inspect.signature(declared).parameters)[1:]
            assert list(inspect.signature(getattr(backend, name)).parameters) == wanted, name


@pytest.mark.parametrize("backend", backends(), ids=lambda backend: backend.schemes[0])
def test_every_scheme_leads_to_its_row(backend: Backend) -> None:
    for scheme in (*backend.schemes, *map(str.upper, backend.schemes)):
        root = parse_root(f"{scheme}://place/prefix")
        assert backend_of(root) is backend
        assert root.capabilities == backend.capabilities
        assert backend_at(f"{scheme}://place/key") is backend


def test_no_scheme_has_two_rows() -> None:
    schemes = [scheme for backend in backends() for scheme in backend.schemes]
    assert len(schemes) == len(set(schemes))
