"""An error that was raised in another process arrives whole: worker pools and Spark send them pickled."""

import inspect
import pickle

import pyarrow as pa
import pytest

from omnigraph import errors
from omnigraph.errors import CompileError, MergeConflicts, OmnigraphError, OutcomeUnknown, ViolationError
from omnigraph.history.conflicts import ConflictKind, MergeConflict
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.rows.violations import Place, Violation, ViolationCode
from omnigraph.schema.compile import accept


def compile_error() -> CompileError:
    with pytest.raises(CompileError) as caught:
        accept(parse_schema(Source("node Person { name: Strin }", "x.pg")), domain="D")
    assert caught.value.diagnostics
    return caught.value


def example(error_type: type[OmnigraphError]) -> OmnigraphError:
    if error_type is CompileError:
        return compile_error()
    if error_type is ViolationError:
        sample = Violation(ViolationCode.KEY, "twice", "node:Person", "ann", "name", Place("f", 3))
        return ViolationError("one", total=1, samples=[sample], counts={"key": 1})
    if error_type is MergeConflicts:
        conflict = MergeConflict("node:Person", "ann", ConflictKind.DIVERGENT_UPDATE, "age", 1, 2, 3)
        return MergeConflicts("one", conflicts=[conflict], table=pa.table({"id": ["ann"]}), hint="do this")
    if error_type is OutcomeUnknown:
        return OutcomeUnknown("01HF7YAT000000000000000005", "no answer")
    return error_type("something", hint="do this", table="node:Person", expected=3)


TYPES = [value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, OmnigraphError)]


@pytest.mark.parametrize("error_type", TYPES)
def test_an_error_survives_the_way_between_processes(error_type: type[OmnigraphError]) -> None:
    error = example(error_type)
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is error_type
    assert str(arrived) == str(error)
    assert arrived.args == error.args
    assert {name: repr(value) for name, value in vars(arrived).items()} == {
        name: repr(value) for name, value in vars(error).items()
    }
