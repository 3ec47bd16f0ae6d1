"""Every merge policy over every scalar kind: it makes a value of the type, or names the types it requires."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import product
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from omnigraph.core.scalars import Scalar
from omnigraph.history.merge import decide_property
from omnigraph.rows.arrow_types import column_type
from omnigraph.rows.compare import differs
from omnigraph.rows.merge import COMBINERS, combine
from omnigraph.schema.ir import MergePolicy
from omnigraph.schema.merge_policies import POLICIES, PropertyOutcome, policy_misfit
from omnigraph.schema.types import PropertyType

# Two values of each kind, the smaller one first.
SAMPLES: dict[Scalar, tuple[Any, Any]] = {
    Scalar.STRING: ("a", "b"),
    Scalar.BLOB: (b"a", b"b"),
    Scalar.BOOL: (False, True),
    **dict.fromkeys((Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64), (3, 5)),
    **dict.fromkeys((Scalar.F32, Scalar.F64), (3.5, 5.5)),
    Scalar.DATETIME: (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)),
    Scalar.DATE: (date(2026, 1, 1), date(2026, 1, 2)),
    Scalar.VECTOR: ([0.0, 1.0], [1.0, 0.0]),
    Scalar.DECIMAL: (Decimal("3.50"), Decimal("5.50")),
    Scalar.TIME: (time(3), time(5)),
    Scalar.DURATION: (timedelta(hours=3), timedelta(hours=5)),
    Scalar.UUID: (str(UUID(int=3)), str(UUID(int=5))),
    Scalar.JSON: ('{"a":3}', '{"a":3,"b":5}'),
}
UNORDERED = (Scalar.BOOL, Scalar.BLOB, Scalar.VECTOR, Scalar.UUID, Scalar.JSON)
DIGITS = {Scalar.DECIMAL: (10, 2)}
SINGLE = [
    PropertyType(scalar, dimension=2 if scalar is Scalar.VECTOR else None, digits=DIGITS.get(scalar))
    for scalar in Scalar
]
LISTS = [
    PropertyType(scalar, is_list=True, digits=DIGITS.get(scalar))
    for scalar in Scalar
    if scalar not in (Scalar.BLOB, Scalar.VECTOR, Scalar.JSON)
]
TYPES = [*SINGLE, *LISTS]
FITTING = [(policy, type_) for policy, type_ in product(POLICIES, TYPES) if POLICIES[policy].fits(type_)]
COMBINED = [(policy, type_) for policy, type_ in FITTING if policy in COMBINERS]


def column(type_: PropertyType, *values: Any) -> pa.Array:
    listed = [[value] if type_.is_list and value is not None else value for value in values]
    return pa.array(listed, column_type(type_))


def test_every_policy_has_a_row_and_every_computed_one_a_function() -> None:
    assert set(POLICIES) == set(MergePolicy)
    assert set(COMBINERS) == {policy for policy, row in POLICIES.items() if row.outcome is PropertyOutcome.COMBINED}


@pytest.mark.parametrize(("policy", "type_"), list(product(POLICIES, TYPES)), ids=str)
def test_a_policy_fits_a_type_or_names_the_types_it_requires(policy: MergePolicy, type_: PropertyType) -> None:
    expected = {
        MergePolicy.SUM: (type_.scalar.is_numeric or type_.scalar is Scalar.DURATION) and not type_.is_list,
        MergePolicy.UNION: type_.is_list,
        MergePolicy.KEYS: type_.scalar is Scalar.JSON and not type_.is_list,
        **dict.fromkeys(
            (MergePolicy.MAX, MergePolicy.MIN),
            not type_.is_list and type_.scalar not in UNORDERED,
        ),
    }.get(policy, True)
    assert policy_misfit(policy, type_) == (None if expected else POLICIES[policy].expected)
    outcome = decide_property(policy, source_differs=True, target_differs=True, sides_differ=True)
    assert outcome is POLICIES[policy].outcome


@pytest.mark.parametrize(("policy", "type_"), COMBINED, ids=str)
def test_a_computed_value_has_the_type_of_the_property_and_depends_on_no_side(
    policy: MergePolicy, type_: PropertyType
) -> None:
    small, large = SAMPLES[type_.scalar]
    # Base absent; equal sides; one side absent; both sides changed a base that is there.
    base = column(type_, None, None, None, small)
    source = column(type_, small, large, None, large)
    target = column(type_, large, large, large, small)
    values, fits = combine(policy, base, source, target)
    swapped, _ = combine(policy, base, target, source)
    assert values.type == column_type(type_)
    assert fits.to_pylist() == [True] * 4
    if policy is MergePolicy.UNION:
        assert [set(items) for items in values.to_pylist()] == [set(items) for items in swapped.to_pylist()]
    else:
        assert differs(values, swapped).to_pylist() == [False] * 4


@pytest.mark.parametrize(("policy", "type_"), COMBINED, ids=str)
def test_a_policy_that_needs_no_base_ignores_it_and_the_others_return_the_changed_side(
    policy: MergePolicy, type_: PropertyType
) -> None:
    small, large = SAMPLES[type_.scalar]
    source, target = column(type_, large), column(type_, small)
    with_base, without_base = (combine(policy, column(type_, base), source, target)[0] for base in (small, None))
    if POLICIES[policy].needs_base:
        # The target is as the base was: what the source made of it is the merged value.
        assert with_base.equals(source)
        # Members that one side added to an object need no base.
        assert policy is MergePolicy.KEYS or not without_base.equals(with_base)
    else:
        assert with_base.equals(without_base)
