"""The decision tables of a merge, in every combination, against the words of the design."""

from itertools import product

import pytest

from omnigraph.errors import UsageError
from omnigraph.history.conflicts import (
    ConflictKind,
    MergeConflict,
    Resolution,
    Take,
    in_order,
    read_resolutions,
)
from omnigraph.history.merge import (
    Policies,
    RowOutcome,
    Seen,
    decide_property,
    decide_row,
)
from omnigraph.schema.ir import MergePolicy
from omnigraph.schema.merge_policies import PropertyOutcome
from omnigraph.wire.merges import resolution_json

# base, source, target: letters are contents, a dash is nothing. One row matches any case.
DESIGN = [
    ("- S -", RowOutcome.TAKE),
    ("- S S", "agree"),
    ("- S T", RowOutcome.BY_PROPERTY),
    ("- - -", RowOutcome.KEEP),
    ("- - T", RowOutcome.KEEP),
    ("B B B", RowOutcome.KEEP),
    ("B B T", RowOutcome.KEEP),
    ("B B -", RowOutcome.KEEP),
    ("B S B", RowOutcome.TAKE),
    ("B S S", "agree"),
    ("B - B", RowOutcome.DELETE),
    ("B - -", RowOutcome.KEEP),
    ("B - T", RowOutcome.DELETE_VS_UPDATE),
    ("B S -", RowOutcome.UPDATE_VS_DELETE),
    ("B S T", RowOutcome.BY_PROPERTY),
]


def seen(base: str, side: str) -> Seen:
    if side == base:
        return Seen.SAME
    return Seen.GONE if side == "-" else Seen.OTHER


@pytest.mark.parametrize(("case", "outcome"), DESIGN)
def test_every_row_of_the_design_has_its_outcome(case: str, outcome: RowOutcome | str) -> None:
    base, source, target = case.split()
    decided = decide_row(seen(base, source), seen(base, target))
    if outcome == "agree":
        # Equal rows differ in no property, so that every property is kept as the target has it.
        assert decided is RowOutcome.BY_PROPERTY
        for policy, differs in product([None, *MergePolicy], [False, True]):
            kept = decide_property(policy, source_differs=differs, target_differs=differs, sides_differ=False)
            assert kept is PropertyOutcome.TARGET
    else:
        assert decided is outcome


def test_the_design_covers_every_combination() -> None:
    covered = {(seen(*case.split()[:2]), seen(case.split()[0], case.split()[2])) for case, _ in DESIGN}
    assert covered == set(product(Seen, Seen))


CONTESTED = {
    None: PropertyOutcome.CONFLICT,
    MergePolicy.REVIEW: PropertyOutcome.CONFLICT,
    MergePolicy.SOURCE: PropertyOutcome.SOURCE,
    MergePolicy.TARGET: PropertyOutcome.TARGET,
    MergePolicy.NEWEST: PropertyOutcome.NEWEST,
    **dict.fromkeys((MergePolicy.MAX, MergePolicy.MIN), PropertyOutcome.COMBINED),
    **dict.fromkeys((MergePolicy.SUM, MergePolicy.UNION, MergePolicy.KEYS), PropertyOutcome.COMBINED),
}


@pytest.mark.parametrize("policy", [None, *MergePolicy])
@pytest.mark.parametrize(("source", "target", "sides"), list(product([False, True], repeat=3)))
def test_every_property_has_its_outcome(policy: MergePolicy | None, source: bool, target: bool, sides: bool) -> None:
    decided = decide_property(policy, source_differs=source, target_differs=target, sides_differ=sides)
    if not source:
        expected = PropertyOutcome.TARGET
    elif not target:
        expected = PropertyOutcome.SOURCE
    else:
        expected = CONTESTED[policy] if sides else PropertyOutcome.TARGET
    assert decided is expected


def test_a_named_property_counts_before_the_schema_and_the_schema_before_what_is_general() -> None:
    policies = Policies(MergePolicy.SOURCE, {"Person": MergePolicy.TARGET}, {("Person", "age"): MergePolicy.MAX})
    assert policies.of("Person", "age", MergePolicy.REVIEW) == (MergePolicy.MAX, True)
    assert policies.of("Person", "name", MergePolicy.REVIEW) == (MergePolicy.REVIEW, True)
    assert policies.of("Person", "name", None) == (MergePolicy.TARGET, False)
    assert policies.of("Firm", "name", None) == (MergePolicy.SOURCE, False)
    assert Policies().of("Firm", "name", None) == (None, False)


def conflict(kind: ConflictKind = ConflictKind.DIVERGENT_UPDATE, id_: str = "ann") -> MergeConflict:
    return MergeConflict("node:Person", id_, kind, "age", 1, 2, 3)


def test_a_choice_for_one_entity_counts_before_rules_and_earlier_before_later() -> None:
    given = read_resolutions(
        [
            {"type": "Person", "take": "target"},
            {"take": "source"},
            {"type": "Person", "id": "ann", "property": "age", "kind": "divergent_update", "value": 9},
        ]
    )
    assert given.of(conflict()) == Resolution(Take.VALUE, 9, "Person", "ann", "age", ConflictKind.DIVERGENT_UPDATE)
    assert given.of(conflict(id_="bo")) == Resolution(Take.TARGET, None, "Person")
    assert given.of(conflict(ConflictKind.ORPHAN_EDGE)) is None
    assert read_resolutions([resolution_json(item) for item in given.given]) == given


@pytest.mark.parametrize("kind", ConflictKind)
def test_a_side_is_taken_where_two_sides_changed_one_entity_and_of_constraints_that_are_named(
    kind: ConflictKind,
) -> None:
    given = read_resolutions([{"take": "source"}])
    assert (given.of(conflict(kind)) is not None) is kind.is_of_rows
    named = read_resolutions([{"take": "source", "kind": kind.value}])
    assert (named.of(conflict(kind)) is None) is (kind is ConflictKind.VALUE_CONSTRAINT_VIOLATION)


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"take": "mine"}, "unknown take of a resolution: 'mine'"),
        ({"take": "value"}, "unknown take of a resolution: 'value'"),
        ({"take": "source", "value": 1}, "exactly one of take, value and expression"),
        ({"type": "Person"}, "exactly one of take, value and expression"),
        ({"take": "source", "kind": "quarrel"}, "unknown kind of a resolution: 'quarrel'"),
        ({"take": "source", "who": "ann"}, "unknown key of a resolution: 'who'"),
    ],
)
def test_a_resolution_that_makes_no_sense_is_refused(said: dict[str, object], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        read_resolutions([said])


def test_conflicts_of_entities_stand_before_broken_constraints() -> None:
    mixed = [conflict(kind, id_) for kind in reversed(ConflictKind) for id_ in ("b", "a")]
    ordered = in_order(mixed)
    assert [item.kind.is_of_rows for item in ordered] == [True] * 10 + [False] * 8
    assert ordered == in_order(reversed(mixed))
