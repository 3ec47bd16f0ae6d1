"""The files of a declaration: schemas, stored queries and policies, read once, so that all checks see one content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from omnigraph.cluster.config import ClusterConfig, DeclaredGraph, parse_config, read_config_file, resolved_storage
from omnigraph.cluster.declare.checks import check_policy, check_queries, check_schema, query_names
from omnigraph.cluster.declare.desired import Contents, Desired, desired_resources
from omnigraph.cluster.declare.references import check_references
from omnigraph.cluster.diagnostics import Diagnostic, has_errors, problem, warning
from omnigraph.cluster.resources import CLUSTER_SCOPE, QueryAddress
from omnigraph.errors import CompileError, UsageError
from omnigraph.policy.read_bundle import ROWS_FILE
from omnigraph.storage.objects.backends import parse_root


@dataclass(frozen=True, slots=True)
class Declaration:
    """A directory that was read. ``desired`` is None if it has an error; ``root`` is None if it names no storage."""

    directory: Path
    root: str | None
    desired: Desired | None
    diagnostics: tuple[Diagnostic, ...]


def read_declaration(directory: Path) -> Declaration:
    """Read and check a directory; all problems are listed together."""
    content = read_config_file(directory)
    if isinstance(content, Diagnostic):
        return Declaration(directory, None, None, (content,))
    config = parse_config(content)
    if not isinstance(config, ClusterConfig):
        return Declaration(directory, None, None, tuple(config))
    root = resolved_storage(directory, config.storage)
    found = check_references(config)
    try:
        parse_root(root)
    except UsageError as error:
        found.append(problem("storage_root_invalid", "storage", error.message))
    if has_errors(found):
        return Declaration(directory, root, None, tuple(found))
    reader = _Reader(directory, config, found)
    contents = reader.read()
    desired = None if has_errors(found) else desired_resources(config, contents)
    return Declaration(directory, root, desired, tuple(found))


@dataclass(slots=True)
class _Reader:
    """Reads what a configuration names and collects problems."""

    directory: Path
    config: ClusterConfig
    found: list[Diagnostic]
    schemas: dict[str, bytes] = field(default_factory=dict)
    queries: dict[QueryAddress, bytes] = field(default_factory=dict)

    def read(self) -> Contents:
        for name, graph in self.config.graphs.items():
            self._graph(name, graph)
        policies = dict(self._policies())
        return Contents(self.schemas, self.queries, policies)

    def _graph(self, name: str, graph: DeclaredGraph) -> None:
        content = self._content(graph.schema_, "schema_file_missing", f"graphs.{name}.schema")
        catalog = None
        if content is not None:
            self.schemas[name] = content
            catalog, problems = check_schema(content, graph.schema_)
            self.found += problems
        texts = dict(self._queries(name, graph))
        self.queries |= {QueryAddress(name, query): text for query, (_, text) in texts.items()}
        if catalog is not None:
            self.found += check_queries(name, texts, catalog)
        elif texts:
            message = f"the stored queries of {name!r} were not checked, because its schema cannot be used"
            self.found.append(warning("query_typecheck_skipped", f"graphs.{name}.queries", message))

    def _queries(self, graph: str, declared: DeclaredGraph) -> Iterator[tuple[str, tuple[str, bytes]]]:
        """Stored queries by name, each with its file and the content of that."""
        place = f"graphs.{graph}.queries"
        match declared.queries:
            case None:
                return
            case dict() as named:
                for name, item in named.items():
                    content = self._content(item.file, "query_file_missing", f"{place}.{name}")
                    names = None if content is None else self._names(content, item.file)
                    if content is None or names is None:
                        continue
                    if name in names:
                        yield name, (item.file, content)
                    else:
                        message = f"{item.file} declares no query {name!r}, but {', '.join(names) or 'none'}"
                        self.found.append(problem("query_key_mismatch", f"{place}.{name}", message))
            case str() as folder:
                yield from self._all_in(self._files_of(folder, place), place)
            case files:
                yield from self._all_in(files, place)

    def _files_of(self, folder: str, place: str) -> list[str]:
        directory = self.directory / folder
        if directory.is_file():
            return [folder]
        try:
            names = sorted(entry.name for entry in directory.iterdir() if entry.suffix == ".gq")
        except OSError as error:
            message = f"the directory {folder!r} cannot be read: {error.strerror or error}"
            self.found.append(problem("query_dir_unreadable", place, message))
            return []
        if not names:
            self.found.append(problem("query_dir_empty", place, f"the directory {folder!r} has no .gq file"))
        return [f"{folder.rstrip('/')}/{name}" for name in names]

    def _all_in(self, files: Iterable[str], place: str) -> Iterator[tuple[str, tuple[str, bytes]]]:
        seen: dict[str, str] = {}
        for file in files:
            content = self._content(file, "query_file_missing", place)
            if content is None:
                continue
            for name in self._names(content, file) or ():
                if name in seen:
                    message = f"query {name!r} is declared in {seen[name]} and in {file}"
                    self.found.append(problem("duplicate_query_name", place, message))
                    continue
                seen[name] = file
                yield name, (file, content)

    def _names(self, content: bytes, file: str) -> list[str] | None:
        """The queries of a text; None if it does not parse."""
        try:
            return query_names(content, file)
        except CompileError as error:
            self.found.append(problem("query_parse_error", file, error.message))
            return None

    def _policies(self) -> Iterator[tuple[str, bytes]]:
        for name, policy in self.config.policies.items():
            content = self._content(policy.file, "policy_file_missing", f"policies.{name}.file")
            if content is None:
                continue
            self.found += check_policy(name, content, policy.file, is_server=CLUSTER_SCOPE in policy.applies_to)
            if (self.directory / policy.file).with_name(ROWS_FILE).exists():
                # A server would not see them, and would show data that they hide.
                message = f"{ROWS_FILE} beside {policy.file}: a cluster does not serve data rules"
                self.found.append(problem("policy_invalid", f"policies.{name}.file", message))
            yield name, content

    def _content(self, file: str, code: str, place: str) -> bytes | None:
        try:
            return (self.directory / file).read_bytes()
        except OSError as error:
            self.found.append(problem(code, place, f"{file} cannot be read: {error.strerror or error}"))
            return None
