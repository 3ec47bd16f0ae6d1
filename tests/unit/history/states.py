"""States, commits and plans for tests: a plain one of each, and strategies for all of them."""

from hypothesis import strategies as st

from omnigraph.core.commit import CommitKind, GraphCommit, ManifestPlace, TableChange
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, WriteMode
from omnigraph.history.state import COMMIT_LOG_KEY, COMMIT_LOG_LOCATION, ManifestState

DETACHED = 2**63


def pin(key: str, version: int = 1, rows: int = 0, location: str | None = None) -> TablePin:
    return TablePin(key, location or f"tables/{key.replace(':', '-')}", DETACHED + version, version, rows)


def state(*keys: str, version: int = 1, schema: str = "sha256:a") -> ManifestState:
    """A state with one commit and these tables."""
    first = commit("c1", version=version)
    tables = {key: pin(key) for key in keys}
    return ManifestState("main", "inc", version, 1, first.id, schema, tables, (first,), None)


def commit(
    id_: str, *tables: TableChange, kind: CommitKind = CommitKind.MUTATION, version: int = 1, at: int = 1_000
) -> GraphCommit:
    return GraphCommit(id_, (), "main", kind, at, ManifestPlace("inc", version, version), "sha256:a", tables=tables)


def write(key: str, mode: WriteMode = WriteMode.UPSERT, version: int = 9, rows: int = 5) -> TableWrite:
    return TableWrite(key, f"tables/{key.replace(':', '-')}", mode, DETACHED + version, rows, inserted=rows)


def plan(base: ManifestState, *writes: TableWrite, id_: str = "new", **others: object) -> PublishPlan:
    info = CommitInfo(id_, CommitKind.MUTATION, 2_000, "ann", "why", "key-1", {"tool": "test"})
    return PublishPlan(info, base, writes, **others)  # type: ignore[arg-type] # the caller names fields


_texts = st.text(max_size=8)
_counts = st.integers(0, 2**40)
_versions = st.tuples(st.integers(1, 2**64 - 1), _counts, _counts)
keys = st.sampled_from([f"{kind}:{name}" for kind in ("node", "edge") for name in ("A", "B", "Ünï")])
files = st.builds(FileRecord, _texts, _counts, st.none() | _texts)
changes = st.builds(TableChange, keys, _texts, st.none() | _versions, st.none() | _versions, _counts, _counts, _counts)
commits = st.builds(
    GraphCommit,
    id=st.text("0123456789ABCDEF", min_size=1, max_size=26),
    parents=st.lists(_texts, max_size=2).map(tuple),
    branch=_texts,
    kind=st.sampled_from(CommitKind),
    created_at_us=_counts,
    manifest=st.builds(ManifestPlace, _texts, _counts, _counts),
    schema_digest=_texts,
    actor=st.none() | _texts,
    message=st.none() | _texts,
    idempotency_key=st.none() | _texts,
    tables=st.lists(changes, max_size=3).map(tuple),
    provenance=st.dictionaries(_texts, _texts, max_size=2),
    files=st.lists(files, max_size=2).map(tuple),
)


@st.composite
def states(draw: st.DrawFn) -> ManifestState:
    names = draw(st.lists(keys, unique=True, max_size=4))
    tables = {key: TablePin(key, draw(_texts), *draw(_versions)) for key in names}
    log = draw(st.none() | _versions.map(lambda version: TablePin(COMMIT_LOG_KEY, COMMIT_LOG_LOCATION, *version)))
    recent = tuple(draw(st.lists(commits, max_size=3)))
    branch, incarnation, head, schema = (draw(_texts) for _ in range(4))
    return ManifestState(branch, incarnation, draw(_counts), draw(_counts), head, schema, tables, recent, log)
