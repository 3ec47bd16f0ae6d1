"""Exact diagnostics, plans and rewrites of the golden files, and the table of codes they illustrate."""

import re
from pathlib import Path
from typing import get_args

import pytest

from omnigraph import query
from omnigraph.query.codes import CODES
from omnigraph.query.ir import Operator, StatementIR
from tests.unit.query.fixture import codes
from tests.unit.query.golden import FILES, Case, cases

QUERY_PACKAGE = Path(query.__path__[0])


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=f"{name[:-4]}: {case.title}") for name in FILES for case in cases(name)],
)
def test_a_query_gives_exactly_the_text_of_its_golden_case(name: str, case: Case) -> None:
    assert FILES[name](case.text) == case.expected


@pytest.mark.parametrize("case", cases("diagnostics.txt"), ids=lambda case: case.title)
def test_the_first_diagnostic_has_the_code_of_the_case(case: Case) -> None:
    assert codes(case.text)[0] == case.title.split()[0]


def test_every_code_of_the_type_checker_has_a_golden_case() -> None:
    shown = {case.title.split()[0] for case in cases("diagnostics.txt")}
    assert shown == {code for code in CODES if code.startswith("T")}


def test_every_code_in_the_source_is_in_the_table_and_every_code_of_the_table_is_used() -> None:
    used: set[str] = set()
    for file in QUERY_PACKAGE.rglob("*.py"):
        if file.name != "codes.py":
            used |= set(re.findall(r'"([TLQ]\d{1,3})"', file.read_text(encoding="utf-8")))
    assert used == CODES.keys()


def test_every_operator_and_statement_of_the_ir_appears_in_a_golden_plan() -> None:
    text = "\n".join(case.expected for case in cases("explain.txt"))
    names = [kind.__name__ for kind in (*get_args(Operator), *get_args(StatementIR))]
    assert not [name for name in names if not re.search(rf"\b{name}\b", text)]
