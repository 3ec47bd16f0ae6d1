"""`docs/user/schema.md` tells the truth: its schemas are accepted or fail as they say, and every code is in it.

A block marked `pg` is accepted; `pg error S1xx` is refused with that code; `pg then` continues the schema of the
block before, and a block `text plan` behind it is the plan between the two.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from omnigraph.lang.diagnostics import Severity
from omnigraph.schema.annotations import KNOWN
from omnigraph.schema.codes import Rule
from omnigraph.schema.ir import MergePolicy
from omnigraph.schema.lint import lint_schema
from omnigraph.schema.migrate import plan
from omnigraph.schema.patterns import PATTERN_CHARS_MAX
from omnigraph.schema.steps import MigrationCode, Safety
from tests.unit.schema.rule_cases import FINDINGS
from tests.unit.schema.schemas import accepted, errors, parse

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "user" / "schema.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    line: int
    words: tuple[str, ...]
    text: str
    before: str | None
    """The schema block in front of this one."""


def _blocks() -> list[Block]:
    found: list[Block] = []
    for match in FENCE.finditer(PAGE):
        schemas = [block.text for block in found if block.words[0] == "pg"]
        line = PAGE.count("\n", 0, match.start()) + 1
        found.append(Block(line, tuple(match["info"].split()), match["body"], schemas[-1] if schemas else None))
    return found


BLOCKS = _blocks()
SCHEMAS = [block for block in BLOCKS if block.words[0] == "pg"]
PLANS = [(schema, text) for schema, text in pairwise(BLOCKS) if text.words == ("text", "plan")]


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    unchecked = [block.line for block in BLOCKS if block not in SCHEMAS and block.words != ("text", "plan")]
    assert unchecked == []
    assert len(PLANS) == len(BLOCKS) - len(SCHEMAS)


@pytest.mark.parametrize("block", SCHEMAS, ids=lambda block: f"line-{block.line}")
def test_every_schema_is_accepted_or_refused_as_it_says(block: Block) -> None:
    previous = accepted(block.before) if "then" in block.words and block.before else None
    expected = [word for word in block.words if word.startswith("S")]
    assert [found.code for found in errors(block.text, previous)] == expected
    assert ("error" in block.words) == bool(expected)


@pytest.mark.parametrize(("schema", "text"), PLANS, ids=lambda block: f"line-{block.line}")
def test_every_plan_is_the_one_that_is_made(schema: Block, text: Block) -> None:
    assert schema.before is not None
    old = accepted(schema.before)
    assert plan(old, accepted(schema.text, old)).render() == text.text.rstrip("\n")


def test_every_rule_is_explained() -> None:
    rows = set(re.findall(r"^\| (S\d+) \| ([^|]+?) \|", PAGE, re.MULTILINE))
    assert rows == {(rule.code, rule.meaning) for rule in Rule}


def test_every_finding_has_its_severity() -> None:
    rows = dict(re.findall(r"^\| (S2\d+) \| [^|]+ \| ([a-z ]+) \|", PAGE, re.MULTILINE))
    for case in FINDINGS:
        previous = accepted(case.before) if case.before else None
        [found] = lint_schema(parse(case.text), previous)
        assert found.severity is not Severity.ERROR
        assert found.severity.value in rows[case.rule.code]


def test_every_migration_code_is_explained() -> None:
    rows = set(re.findall(r"^\| (OG-[A-Z]+-\d+) \| ([^|]+?) \| (\w+) \|", PAGE, re.MULTILINE))
    assert rows == {(code.code, code.meaning, code.tier.value) for code in MigrationCode}


def test_every_annotation_policy_and_safety_is_named() -> None:
    words = [*(f"`@{name}" for name in KNOWN), *(f"`{policy.value}`" for policy in MergePolicy)]
    words += [f"`{safety.value}`" for safety in Safety]
    assert [word for word in words if word not in PAGE] == []
    assert f"{PATTERN_CHARS_MAX:,} characters" in PAGE
