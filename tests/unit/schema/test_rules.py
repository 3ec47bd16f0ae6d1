"""Every rule of the schema language is reported with its code, its place and a text that says what is wrong."""

import pytest

from omnigraph.errors import CompileError, MigrationRefused
from omnigraph.lang.diagnostics import Severity
from omnigraph.schema.codes import Rule
from omnigraph.schema.lint import lint_schema
from tests.unit.schema.rule_cases import ERRORS, FINDINGS, RENAMES, Case
from tests.unit.schema.schemas import accepted, errors, marked, parse


def _name(case: Case) -> str:
    return f"{case.rule.code}-{case.gist[:40]}"


@pytest.mark.parametrize("case", ERRORS, ids=_name)
def test_breaking_a_rule_is_one_error_with_its_code_and_place(case: Case) -> None:
    previous = accepted(case.before) if case.before else None
    [found] = errors(case.text, previous)
    assert (found.code, found.severity, marked(found)) == (case.rule.code, Severity.ERROR, case.place)
    assert case.gist in found.message
    assert case.hint is None or found.hint == case.hint


@pytest.mark.parametrize("case", FINDINGS, ids=_name)
def test_the_linter_finds_what_is_not_wrong_but_surprising(case: Case) -> None:
    previous = accepted(case.before) if case.before else None
    [found] = lint_schema(parse(case.text), previous)
    assert (found.code, marked(found)) == (case.rule.code, case.place)
    assert found.severity is not Severity.ERROR
    assert case.gist in found.message
    assert case.hint is None or found.hint == case.hint


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in (*ERRORS, *FINDINGS)} == set(Rule)


def test_errors_and_findings_have_separate_ranges_of_codes() -> None:
    assert {case.rule.code[:2] for case in ERRORS} == {"S1"}
    assert {case.rule.code[:2] for case in FINDINGS} == {"S2"}
    codes = [rule.code for rule in Rule]
    assert len(set(codes)) == len(codes)
    assert codes == sorted(codes)


def test_all_errors_of_a_text_are_reported_together_in_its_order() -> None:
    text = "node A { p: [Blob] q: String? @key id: I32 } edge E: A -> B\nnode A {}"
    assert [found.code for found in errors(text)] == ["S110", "S112", "S109", "S106", "S101"]


def test_syntax_errors_come_with_the_others_and_silence_names_that_may_have_been_lost() -> None:
    # The declaration of B and the property r are not understood, so nobody can say that they do not exist.
    text = "node A { p: [Blob] r String @unique(r) } node B ( edge E: A -> B"
    codes = [found.code for found in errors(text)]
    assert "P001" in codes
    assert "S110" in codes
    assert "S106" not in codes
    assert "S113" not in codes


def test_a_text_with_very_many_errors_reports_a_bounded_number() -> None:
    found = errors("node A { " + " ".join(f"p{number}: [Blob]" for number in range(500)) + " }")
    assert len(found) == 101
    assert found[-1].code == "OG-LIMIT"


def test_a_wrong_text_is_a_compile_error_and_a_wrong_hint_a_refused_migration() -> None:
    with pytest.raises(CompileError):
        accepted("node A { p: [Blob] }")
    case = RENAMES[0]
    assert case.before is not None
    with pytest.raises(MigrationRefused, match=r"S131.*Persn"):
        accepted(case.text, accepted(case.before))


def test_rename_hints_mean_nothing_without_an_accepted_schema() -> None:
    assert not [case for case in RENAMES if errors(case.text)]


def test_a_schema_with_errors_gets_its_errors_only_from_the_linter() -> None:
    assert [found.code for found in lint_schema(parse("node A { p: [Blob] }"))] == ["S110"]


def test_the_linter_reports_hints_that_cannot_be_followed() -> None:
    previous = accepted("node A { p: I32 @key }")
    found = lint_schema(parse('node B @rename_from("C") { p: I32 @key }'), previous)
    assert [item.code for item in found] == ["S131"]


def test_a_tidy_schema_has_no_findings() -> None:
    text = """
    interface Named { name: String @key }
    node Person implements Named { age: I32? @x_owner("people") @range(age, 0..150) }
    edge Knows: Person -> Person { since: Date? @unique(src, dst) }
    """
    assert lint_schema(parse(text)) == ()


def test_very_many_unknown_names_do_not_cost_very_many_comparisons() -> None:
    nodes = " ".join(f"node Person{number:04}Type {{}}" for number in range(1_000))
    edges = " ".join(f"edge E{number}: Parson{number:04}Type -> Person0001Type" for number in range(90))
    hints = [found.hint for found in errors(f"{nodes} {edges}")]
    assert len(hints) == 90
    assert hints[0] == "did you mean `Person0000Type`?"
    assert hints[-1] == "declare it: `node Parson0089Type { ... }`"
