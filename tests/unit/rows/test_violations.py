"""Violations are all counted, the first few of each kind kept, and their number never costs memory."""

from omnigraph.rows.limits import COUNTED_KINDS_MAX, SAMPLES_MAX, SAMPLES_PER_KIND_MAX
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations, shown


def _violation(line: int, prop: str = "p", code: ViolationCode = ViolationCode.TYPE) -> Violation:
    return Violation(code, "wrong", "node:A", None, prop, Place("f", line))


def test_the_first_of_each_kind_are_kept_and_all_are_counted() -> None:
    violations = Violations()
    for line in range(1, 101):
        violations.add(_violation(line))
    violations.add(_violation(7, "q"))
    assert violations.total == 101
    assert violations.counts == {
        (ViolationCode.TYPE, "node:A", "p"): 100,
        (ViolationCode.TYPE, "node:A", "q"): 1,
    }
    lines = [sample.place.line for sample in violations.samples if sample.place]
    assert lines == [*range(1, SAMPLES_PER_KIND_MAX + 1), 7]


def test_no_more_than_the_limit_is_kept_in_all() -> None:
    violations = Violations()
    for line in range(10_000):
        violations.add(_violation(line, f"p{line}"))
    assert len(violations.samples) == SAMPLES_MAX
    assert violations.total == sum(violations.counts.values()) == 10_000
    assert len(violations.counts) <= COUNTED_KINDS_MAX + len(ViolationCode)


def test_a_group_builds_only_what_is_kept() -> None:
    violations = Violations()
    built = []

    def each() -> object:
        for line in range(1_000_000):
            built.append(line)
            yield _violation(line)

    violations.add_group((ViolationCode.TYPE, "node:A", "p"), 1_000_000, each())  # type: ignore[arg-type]
    assert violations.total == 1_000_000
    assert len(built) == len(violations.samples) == SAMPLES_PER_KIND_MAX


def test_a_violation_reads_as_place_and_message() -> None:
    assert str(_violation(3)) == "f:3: wrong"
    assert str(Violation(ViolationCode.MALFORMED, "bad")) == "bad"


def test_long_values_are_cut_when_shown() -> None:
    assert len(shown("x" * 10**6)) < 100
    assert shown("a'b") == '"a\'b"'
