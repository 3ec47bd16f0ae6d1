"""Sequences of everything that can be done to a graph, done to the model too, compared after every step."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from itertools import count
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import Graph
from omnigraph.errors import (
    AlreadyExistsError,
    InputError,
    KeyConflictError,
    NotFoundError,
    PreconditionFailed,
    ReadSetConflict,
)
from tests.promises.model import plain
from tests.promises.model.operations import adopt, mutate_elsewhere, mutation, parse, records
from tests.promises.model.plain import Branch, Invalid, Model, Statement
from tests.support.faults.s3 import Bucket, Server
from tests.support.tuning import retuned

PEOPLE = st.sampled_from(["ann", "bo", "cy", "dee"])
FIRMS = st.sampled_from(["acme", "globex"])
EMAILS = st.sampled_from([None, "x@", "y@", "z@"])
NUMBERS = st.sampled_from([None, 0, 1, 2])
COUNTS = st.sampled_from([0, 1, 2])
BRANCHES = ["main", "b1", "b2", "b3"]
HANDLES = st.integers(0, 1)

person_values = st.fixed_dictionaries({"name": PEOPLE, "email": EMAILS, "age": NUMBERS})
comparison = st.sampled_from(["=", "!=", "<", ">="])
person_where = st.one_of(
    st.tuples(st.just("name"), st.just("="), PEOPLE),
    st.tuples(st.just("age"), comparison, COUNTS),
    st.tuples(st.just("email"), st.just("="), st.sampled_from(["x@", "y@", "z@"])),
)
statement = st.one_of(
    st.builds(Statement, st.just("insert"), st.just("Person"), person_values),
    st.builds(Statement, st.just("insert"), st.just("Firm"), st.fixed_dictionaries({"title": FIRMS})),
    st.builds(
        Statement,
        st.just("insert"),
        st.just("Knows"),
        st.fixed_dictionaries({"from": PEOPLE, "to": PEOPLE, "since": NUMBERS}),
    ),
    st.builds(Statement, st.just("insert"), st.just("WorksAt"), st.fixed_dictionaries({"from": PEOPLE, "to": FIRMS})),
    st.builds(
        Statement,
        st.just("update"),
        st.just("Person"),
        st.one_of(st.fixed_dictionaries({"age": NUMBERS}), st.fixed_dictionaries({"email": EMAILS})),
        person_where,
    ),
    st.builds(Statement, st.just("delete"), st.just("Person"), st.just({}), person_where),
    st.builds(
        Statement, st.just("delete"), st.just("Firm"), st.just({}), st.tuples(st.just("title"), st.just("="), FIRMS)
    ),
    st.builds(
        Statement,
        st.just("delete"),
        st.just("Knows"),
        st.just({}),
        st.one_of(st.tuples(st.just("from"), st.just("="), PEOPLE), st.tuples(st.just("since"), comparison, COUNTS)),
    ),
)
person_record = st.builds(lambda values: ("Person", values["name"], values), person_values)
firm_record = st.builds(lambda title: ("Firm", title, {"title": title}), FIRMS)
knows_record = st.builds(
    lambda id_, src, dst, since: ("Knows", id_, {"src": src, "dst": dst, "since": since}),
    st.sampled_from(["k1", "k2", "k3"]),
    PEOPLE,
    PEOPLE,
    NUMBERS,
)
works_record = st.builds(
    lambda id_, src, dst: ("WorksAt", id_, {"src": src, "dst": dst}), st.sampled_from(["w1", "w2"]), PEOPLE, FIRMS
)
record = st.one_of(person_record, person_record, firm_record, knows_record, works_record)


def again(write: Callable[[], Any]) -> Any:
    """Write with a handle that may be behind: who decides from rows that have changed is told so, and may decide again.

    Nobody writes meanwhile, so once is enough."""
    try:
        return write()
    except ReadSetConflict:
        return write()


class GraphMachine(RuleBasedStateMachine):
    """Two handles on one graph, so that one of them is often behind."""

    elsewhere: ClassVar[ProcessPoolExecutor | None] = None
    tuning: ClassVar[Tuning] = Tuning(recent_commits_max=4, fold_tiers=((3, 2), (8, 2), (64, 2)))
    """Folds and spills come after many writes; here they come after a few."""

    def __init__(self) -> None:
        super().__init__()
        self.options: dict[str, Any] = {"durability": "os", "tuning": self.tuning}
        self.exports = 0
        self.uri = self.place()

    def place(self) -> str:
        self.directory = tempfile.mkdtemp(prefix="model-")
        return os.path.join(self.directory, "graph")

    def remove(self) -> None:
        shutil.rmtree(self.directory)

    @initialize()
    def create(self) -> None:
        self.handles = [omnigraph.create(self.uri, plain.SCHEMA, **self.options), self.open()]
        first = self.handles[0].snapshot().commit_id
        self.model = Model({"main": Branch(plain.empty(), [first])}, {first: plain.empty()})

    def open(self) -> Graph:
        return omnigraph.open(self.uri, **self.options)

    def teardown(self) -> None:
        try:
            if hasattr(self, "model"):
                for name, branch in self.model.branches.items():
                    for handle in self.handles:
                        assert parse(handle.export(name)) == branch.tables
                        assert [commit.id for commit in handle.commits(name)] == branch.commits[::-1]
                report = self.open().verify(deep=True)
                assert report.is_clean, report.problems
        finally:
            self.remove()

    def branch(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.model.branches)), label="branch")

    def compare(self, handle: Graph, name: str) -> None:
        assert parse(handle.export(name)) == self.model.branches[name].tables

    # --- writes -----------------------------------------------------------------------------------------

    @rule(data=st.data(), number=HANDLES, statements=st.lists(statement, min_size=1, max_size=4))
    def mutate(self, data: st.DataObject, number: int, statements: list[Statement]) -> None:
        name, handle = self.branch(data), self.handles[number]
        text, parameters = mutation(statements)

        def write() -> str | None:
            commit = handle.mutate(text, parameters, branch=name).commit
            return None if commit is None else commit.id

        self.check_mutation(handle, name, statements, write)

    @precondition(lambda self: self.elsewhere is not None)
    @rule(data=st.data(), number=HANDLES, statements=st.lists(statement, min_size=1, max_size=3))
    def mutate_in_another_process(self, data: st.DataObject, number: int, statements: list[Statement]) -> None:
        name = self.branch(data)
        text, parameters = mutation(statements)
        assert self.elsewhere is not None
        pool = self.elsewhere

        def write() -> str | None:
            return pool.submit(mutate_elsewhere, self.uri, text, parameters, name).result()

        self.check_mutation(self.handles[number], name, statements, write)

    def check_mutation(self, handle: Graph, name: str, statements: list[Statement], write: Any) -> None:
        before = self.model.branches[name].tables
        try:
            expected, made = plain.run(before, statements)
        except Invalid:
            with pytest.raises(InputError):
                again(write)
        else:
            commit = again(write)
            found = parse(handle.export(name))
            adopt(expected, made, found)
            assert found == expected
            if commit is None:
                assert expected == before
            else:
                self.model.commit(name, commit, expected)
        self.compare(handle, name)

    @rule(
        data=st.data(),
        number=HANDLES,
        rows=st.lists(record, max_size=6),
        mode=st.sampled_from(["append", "merge", "overwrite"]),
        is_bulk=st.booleans(),
    )
    def load(self, data: st.DataObject, number: int, rows: list[Any], mode: str, is_bulk: bool) -> None:
        name, handle = self.branch(data), self.handles[number]
        before = self.model.branches[name].tables

        def write() -> str:
            return handle.load(records(rows), mode, branch=name).commit.id

        with retuned(handle, buffered_rows_max=0) if is_bulk else nullcontext():
            try:
                expected = plain.load(before, rows, mode)
            except Invalid:
                with pytest.raises((InputError, KeyConflictError)):
                    again(write)
            else:
                self.model.commit(name, again(write), expected)
        self.compare(handle, name)

    @rule(data=st.data(), number=HANDLES)
    def write_only_on_a_named_head(self, data: st.DataObject, number: int) -> None:
        name, handle = self.branch(data), self.handles[number]
        commits = self.model.branches[name].commits
        named = data.draw(st.sampled_from(commits), label="if_commit")
        insert = Statement("insert", "Firm", {"title": "initech"})
        text, parameters = mutation([insert])
        if named != commits[-1]:
            with pytest.raises(PreconditionFailed):
                handle.mutate(text, parameters, branch=name, if_commit=named)
        else:
            commit = handle.mutate(text, parameters, branch=name, if_commit=named).commit
            before = self.model.branches[name].tables
            expected, _ = plain.run(before, [insert])
            # An equal firm is no change, and makes no commit.
            assert (commit is None) == (expected == before)
            if commit is not None:
                self.model.commit(name, commit.id, expected)
        self.compare(handle, name)

    @rule(data=st.data(), number=HANDLES)
    def optimize(self, data: st.DataObject, number: int) -> None:
        """Compaction and indexes change no row; the next writer extends the indexes."""
        name, handle = self.branch(data), self.handles[number]
        with retuned(handle, index_rows_min=0, extended_rows_min=1):
            report = handle.optimize(branch=name)
        before = self.model.branches[name].tables
        for commit in report.commits:
            self.model.commit(name, commit.id, before)
        self.compare(self.handles[1 - number], name)

    # --- branches ---------------------------------------------------------------------------------------

    @rule(data=st.data(), number=HANDLES, name=st.sampled_from(BRANCHES), is_from_commit=st.booleans())
    def create_branch(self, data: st.DataObject, number: int, name: str, is_from_commit: bool) -> None:
        parent, handle = self.branch(data), self.handles[number]
        origin = self.model.branches[parent]
        commit = data.draw(st.sampled_from(origin.commits), label="at") if is_from_commit else origin.commits[-1]
        at = {"at": commit} if is_from_commit else {"parent": parent}
        if name in self.model.branches:
            with pytest.raises(AlreadyExistsError):
                handle.create_branch(name, **at)
            self.compare(handle, name)
            return
        handle.create_branch(name, **at)
        self.model.fork(name, origin, commit)
        self.compare(handle, name)

    @rule(number=HANDLES, name=st.sampled_from(BRANCHES[1:]))
    def delete_branch(self, number: int, name: str) -> None:
        handle = self.handles[number]
        if name in self.model.branches:
            handle.delete_branch(name)
            del self.model.branches[name]
        for reader in self.handles:
            with pytest.raises(NotFoundError):
                reader.snapshot(name)
        with pytest.raises(NotFoundError):
            handle.delete_branch(name)

    @rule(number=HANDLES, name=st.sampled_from(BRANCHES[1:]), new_name=st.sampled_from(BRANCHES))
    def rename_branch(self, number: int, name: str, new_name: str) -> None:
        handle = self.handles[number]
        if name not in self.model.branches:
            with pytest.raises(NotFoundError):
                handle.rename_branch(name, new_name)
        elif new_name in self.model.branches:
            with pytest.raises(AlreadyExistsError):
                handle.rename_branch(name, new_name)
        else:
            handle.rename_branch(name, new_name)
            self.model.branches[new_name] = self.model.branches.pop(name)
            self.compare(self.handles[1 - number], new_name)

    # --- reads ------------------------------------------------------------------------------------------

    @rule(data=st.data(), number=HANDLES)
    def travel(self, data: st.DataObject, number: int) -> None:
        commit = data.draw(st.sampled_from(sorted(self.model.states)), label="commit")
        handle = self.handles[number]
        if self.model.is_visible(commit):
            assert parse(handle.export(at=commit)) == self.model.states[commit]
        else:
            with pytest.raises(NotFoundError):
                handle.snapshot(at=commit)

    @rule(number=HANDLES)
    def reopen(self, number: int) -> None:
        self.handles[number] = self.open()

    @rule(number=HANDLES)
    def pickle_the_handle(self, number: int) -> None:
        self.handles[number] = pickle.loads(pickle.dumps(self.handles[number]))

    @rule(data=st.data(), number=HANDLES, mode=st.sampled_from(["append", "merge", "overwrite"]))
    def export_into_another_graph(self, data: st.DataObject, number: int, mode: str) -> None:
        name = self.branch(data)
        self.exports += 1
        other = omnigraph.create(f"{self.uri}-{self.exports}", plain.SCHEMA, **self.options)
        other.load(io.BytesIO(b"".join(self.handles[number].export(name))), mode)
        assert parse(other.export()) == self.model.branches[name].tables

    @invariant()
    def names_are_those_of_the_model(self) -> None:
        if hasattr(self, "model"):
            assert {info.name: info.head for info in self.handles[0].branches()} == {
                name: branch.commits[-1] for name, branch in self.model.branches.items()
            }


class BucketMachine(GraphMachine):
    """The same in a bucket. Each handle has a scratch directory of its own, as if it were in another process."""

    server: ClassVar[Server]
    bucket: ClassVar[Bucket]
    places: ClassVar[Iterator[int]] = count()

    def place(self) -> str:
        self.options = {"storage_options": self.server.storage_options(), "tuning": self.tuning}
        self.prefix = f"model-{next(self.places)}"
        return self.bucket.uri(self.prefix)

    def remove(self) -> None:
        # The server keeps everything in memory.
        self.bucket.clear(self.prefix)


def test_a_graph_does_what_the_model_says() -> None:
    run_state_machine_as_test(GraphMachine, settings=settings(max_examples=15, stateful_step_count=20))


@pytest.fixture
def bucket_machine(s3_server: Server, s3_bucket: Bucket) -> type[BucketMachine]:
    BucketMachine.server, BucketMachine.bucket = s3_server, s3_bucket
    return BucketMachine


@pytest.mark.s3
def test_a_graph_in_a_bucket_does_what_the_model_says(bucket_machine: type[BucketMachine]) -> None:
    run_state_machine_as_test(bucket_machine, settings=settings(max_examples=4, stateful_step_count=12))


@pytest.mark.long
@pytest.mark.s3
def test_a_graph_in_a_bucket_does_what_the_model_says_for_long(bucket_machine: type[BucketMachine]) -> None:
    run_state_machine_as_test(
        bucket_machine, settings=settings(max_examples=60, stateful_step_count=30, derandomize=False)
    )


@pytest.fixture
def other_process() -> Iterator[None]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        GraphMachine.elsewhere = pool
        try:
            yield
        finally:
            GraphMachine.elsewhere = None


@pytest.mark.long
@pytest.mark.usefixtures("other_process")
@pytest.mark.parametrize("steps", [20, 60])
def test_a_graph_does_what_the_model_says_for_long(steps: int) -> None:
    run_state_machine_as_test(
        GraphMachine, settings=settings(max_examples=150, stateful_step_count=steps, derandomize=False)
    )
