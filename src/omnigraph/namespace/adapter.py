"""``OmnigraphNamespace``: the operations of the Lance namespace interface that a graph has.

Operations that a graph does not have are refused with a reason (``refusals``). Every call is answered in a thread of
its own (``calls``), which also translates errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import lance_namespace as ln

from omnigraph.core.tables import TablePin
from omnigraph.engine.graph import Graph, open_graph
from omnigraph.errors import NotFoundError
from omnigraph.namespace.arrow_schema import schema_json
from omnigraph.namespace.batches import commit_options, read_batch
from omnigraph.namespace.calls import answer_in_own_threads
from omnigraph.namespace.commits import Answer, Committed, commit_batch, result
from omnigraph.namespace.failures import hinted
from omnigraph.namespace.fields import Fields
from omnigraph.namespace.refusals import refuse_unsupported
from omnigraph.namespace.statistics import basic_statistics, index_contents, index_statistics, table_statistics
from omnigraph.namespace.table_ids import DELIMITER, namespace_path, table_path, transaction_path
from omnigraph.namespace.tables import Graphs, Table, described
from omnigraph.storage.tables.store import Store

STORAGE, GRAPH = "storage.", "graph."
"""Prefixes of properties: options of the object store, as in Lance's own directory namespace, and graphs by name."""

SUCCEEDED = "Succeeded"
"""The state of every commit that exists."""


class OmnigraphNamespace(ln.LanceNamespace):
    """The tables of a graph, or of several by name, for Lance clients. Reading needs no server.

    ``OmnigraphNamespace(root="graph.omni")``, or with ``graphs={"kb": graph}``. For programs that take a name and
    texts: ``lance_namespace.connect("omnigraph.namespace.OmnigraphNamespace", {"root": ...})``, with properties
    ``graph.<name>`` for several graphs and ``storage.<name>`` for options of the object store.
    """

    def __init__(
        self,
        root: str | Graph | None = None,
        *,
        graphs: Mapping[str, str | Graph] | None = None,
        **properties: Any,
    ) -> None:
        named = {**(graphs or {}), **_prefixed(properties, GRAPH)}
        if (root is None) == (not named):
            raise ln.InvalidInputError(
                "give either root, the address of a graph, or graphs, addresses by name (properties graph.<name>)"
            )
        unknown = [name for name in properties if not name.startswith((STORAGE, GRAPH))]
        if unknown:
            raise ln.InvalidInputError(
                f"unknown property {unknown[0]!r}; expected root, graph.<name>, or storage.<name> for the object store"
            )
        options = _prefixed(properties, STORAGE)
        if root is not None:
            self._graphs = Graphs(_opened(root, options))
        else:
            self._graphs = Graphs({name: _opened(graph, options) for name, graph in named.items()})

    def namespace_id(self) -> str:
        graphs = ", ".join(self._graphs.graph(name).uri for name in self._graphs.names())
        return f"OmnigraphNamespace {{ {graphs} }}"

    def list_namespaces(self, request: ln.ListNamespacesRequest) -> ln.ListNamespacesResponse:
        """Graphs where several are served, then the branches of a graph."""
        fields = Fields(request)
        path = namespace_path(fields.identifier, many=self._graphs.many)
        if path.ref is not None:
            self._graphs.snapshot(path)
            names: list[str] = []
        elif self._graphs.many and path.graph is None:
            names = self._graphs.names()
        else:
            names = self._graphs.branches(path)
        page, token = fields.page(names)
        return ln.ListNamespacesResponse(namespaces=page, page_token=token)

    def describe_namespace(self, request: ln.DescribeNamespaceRequest) -> ln.DescribeNamespaceResponse:
        """The commit that a ref means; the address of a graph."""
        path = namespace_path(Fields(request).identifier, many=self._graphs.many)
        if path.ref is None:
            known = {"uri": self._graphs.graph(path.graph).uri} if not self._graphs.many or path.graph else {}
            return ln.DescribeNamespaceResponse(properties=known)
        snapshot = self._graphs.snapshot(path)
        return ln.DescribeNamespaceResponse(properties={"branch": snapshot.branch, "commit": snapshot.commit_id})

    def namespace_exists(self, request: ln.NamespaceExistsRequest) -> ln.NamespaceExistsResponse:
        self.describe_namespace(ln.DescribeNamespaceRequest(id=Fields(request).identifier))
        return ln.NamespaceExistsResponse()

    def list_tables(self, request: ln.ListTablesRequest) -> ln.ListTablesResponse:
        """The types at a ref. A graph itself has none: they are in its branches."""
        fields = Fields(request)
        path = namespace_path(fields.identifier, many=self._graphs.many)
        if path.graph is not None:
            self._graphs.graph(path.graph)
        page, token = fields.page([] if path.ref is None else self._graphs.tables(path))
        return ln.ListTablesResponse(tables=page, page_token=token)

    def list_all_tables(self, request: ln.ListTablesRequest) -> ln.ListTablesResponse:
        """The types on every branch of every graph, as whole identifiers. Commits are not enumerated."""
        fields = Fields(request)
        names = self._graphs.identifiers(fields.text("delimiter") or DELIMITER)
        page, token = fields.page(names)
        return ln.ListTablesResponse(tables=page, page_token=token)

    def table_exists(self, request: ln.TableExistsRequest) -> ln.TableExistsResponse:
        self._version(Fields(request))
        return ln.TableExistsResponse()

    def describe_table(self, request: ln.DescribeTableRequest) -> ln.DescribeTableResponse:
        """The place of a table. Clients ask this namespace for its versions (``managed_versioning``)."""
        fields = Fields(request)
        if fields.text("tag") is not None:
            raise ln.TableTagNotFoundError("tables have no tags; name a commit instead, as the ref @<commit>")
        table = self._table(fields)
        pin = table.version(fields.number("version", least=None)).pin
        store = table.snapshot.store
        is_detailed = fields.flag("load_detailed_metadata")
        return ln.DescribeTableResponse(
            table=table.entity.name,
            namespace=(fields.identifier or [])[:-1],
            version=pin.table_version,
            location=table.uri,
            table_uri=table.uri if fields.flag("with_table_uri") else None,
            schema=schema_json(store.open(pin.location, pin.lance_version).schema) if is_detailed else None,
            storage_options=table.storage_options,
            stats=basic_statistics(store, pin) if is_detailed else None,
            properties={"commit": table.snapshot.commit_id, "table_key": table.entity.table_key},
            managed_versioning=True,
            is_only_declared=False,
        )

    def list_table_versions(self, request: ln.ListTableVersionsRequest) -> ln.ListTableVersionsResponse:
        """The versions of a table in the history of its ref, newest first."""
        fields = Fields(request)
        table = self._table(fields)
        limit, token = fields.limit, fields.text("page_token")
        if token and not token.isdecimal():
            raise ln.InvalidInputError(f"page_token is {token!r}; expected the token of the page before")
        versions: list[ln.TableVersion] = []
        for version in table.versions():
            if token and version.pin.table_version >= int(token):
                continue
            versions.append(described(table, version))
            if len(versions) == limit:
                # Without a look at the next one: a client that wants the newest version does not pay for the log.
                last = version.pin.table_version
                return ln.ListTableVersionsResponse(versions=versions, page_token=str(last) if last > 1 else None)
        return ln.ListTableVersionsResponse(versions=versions)

    def describe_table_version(self, request: ln.DescribeTableVersionRequest) -> ln.DescribeTableVersionResponse:
        fields = Fields(request)
        table = self._table(fields)
        version = table.version(fields.number("version", least=None))
        return ln.DescribeTableVersionResponse(version=described(table, version))

    def count_table_rows(self, request: ln.CountTableRowsRequest) -> ln.CountTableRowsResponse:
        """The rows of a version, from its pin. A predicate is not evaluated here."""
        fields = Fields(request)
        if fields.text("predicate") is not None:
            raise ln.UnsupportedOperationError(
                "count_table_rows: rows are counted without a predicate; open the table and filter it, or use"
                " graph.query"
            )
        return ln.CountTableRowsResponse(count=self._version(fields)[1].rows)

    def list_table_indices(self, request: ln.ListTableIndicesRequest) -> ln.ListTableIndicesResponse:
        """The indexes of a version, by name."""
        fields = Fields(request)
        indexes = index_contents(*self._version(fields))
        page, token = fields.page(list(indexes))
        return ln.ListTableIndicesResponse(indexes=[indexes[name] for name in page], page_token=token)

    def describe_table_index_stats(
        self, request: ln.DescribeTableIndexStatsRequest
    ) -> ln.DescribeTableIndexStatsResponse:
        fields = Fields(request)
        return index_statistics(*self._version(fields), fields.text("index_name"))

    def get_table_stats(self, request: ln.GetTableStatsRequest) -> ln.GetTableStatsResponse:
        return table_statistics(*self._version(Fields(request)))

    def describe_transaction(self, request: ln.DescribeTransactionRequest) -> ln.DescribeTransactionResponse:
        """A commit, by the ``transaction_id`` of a batch: resolves an outcome that a client did not learn."""
        path, commit_id = transaction_path(Fields(request).identifier, many=self._graphs.many)
        graph = self._graphs.graph(path.graph)
        try:
            commit = graph.commit(commit_id)
        except NotFoundError as error:
            raise ln.TransactionNotFoundError(hinted(error.message, error.hint)) from error
        about = {"branch": commit.branch, "kind": commit.kind.value, "actor": commit.actor, "message": commit.message}
        properties = {name: value for name, value in {"commit": commit.id, **about}.items() if value is not None}
        return ln.DescribeTransactionResponse(status=SUCCEEDED, properties=properties)

    def create_table_version(self, request: ln.CreateTableVersionRequest) -> ln.CreateTableVersionResponse:
        """Commit one staged version."""
        answer = self._commit_one("create_table_version", request)
        assert isinstance(answer, ln.CreateTableVersionResponse), "the answer is of the kind of the operation"
        return answer

    def declare_table(self, request: ln.DeclareTableRequest) -> ln.DeclareTableResponse:
        """Add a type to the schema: the property ``declaration`` holds its text."""
        answer = self._commit_one("declare_table", request)
        assert isinstance(answer, ln.DeclareTableResponse), "the answer is of the kind of the operation"
        return answer

    def deregister_table(self, request: ln.DeregisterTableRequest) -> ln.DeregisterTableResponse:
        """Drop a type from the schema; with entities only if the context has ``allow_drop: "true"``."""
        answer = self._commit_one("deregister_table", request)
        assert isinstance(answer, ln.DeregisterTableResponse), "the answer is of the kind of the operation"
        return answer

    def batch_create_table_versions(
        self, request: ln.BatchCreateTableVersionsRequest
    ) -> ln.BatchCreateTableVersionsResponse:
        """Commit staged versions of several tables, all or none."""
        fields = Fields(request)
        operations = [Fields({"create_table_version": entry.request}, entry.what) for entry in fields.items("entries")]
        made = self._commit(operations, fields)
        found = (answer.version for answer in made.answers if isinstance(answer, ln.CreateTableVersionResponse))
        versions = [version for version in found if version is not None]
        return ln.BatchCreateTableVersionsResponse(transaction_id=made.commit_id, versions=versions)

    def batch_commit_tables(self, request: ln.BatchCommitTablesRequest) -> ln.BatchCommitTablesResponse:
        """Commit operations on several tables as one graph commit, all or none."""
        fields = Fields(request)
        made = self._commit(fields.items("operations"), fields)
        return ln.BatchCommitTablesResponse(
            transaction_id=made.commit_id, results=[result(answer) for answer in made.answers]
        )

    def _commit_one(self, kind: str, request: Any) -> Answer:
        fields = Fields(request)
        return self._commit([Fields({kind: request}, kind)], fields).answers[0]

    def _commit(self, operations: Sequence[Fields], fields: Fields) -> Committed:
        batch = read_batch(operations, many=self._graphs.many)
        return commit_batch(self._graphs, batch, commit_options(fields.texts("context")))

    def _table(self, fields: Fields) -> Table:
        table = self._graphs.table(table_path(fields.identifier, fields.text("branch"), many=self._graphs.many))
        external = table.entity.ir.external
        if external is not None:
            raise ln.UnsupportedOperationError(
                f"{table.entity.name} is external: its rows are in {external.address!r}, which is no Lance table;"
                " open that table itself, or use graph.query"
            )
        return table

    def _version(self, fields: Fields) -> tuple[Store, TablePin]:
        table = self._table(fields)
        return table.snapshot.store, table.version(fields.number("version", least=None)).pin


refuse_unsupported(OmnigraphNamespace)
answer_in_own_threads(OmnigraphNamespace)


def _prefixed(properties: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in properties.items() if name.startswith(prefix)}


def _opened(graph: str | Graph, options: Mapping[str, str]) -> Graph:
    return graph if isinstance(graph, Graph) else open_graph(graph, storage_options=options)
