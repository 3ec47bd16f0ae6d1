"""``omnigraph doctor``: checks of this machine and of a graph, with advice."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Address, may_read_graph, uri_argument
from omnigraph.cli.args.options import branch_option, json_option
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.cli.version import STORAGE_FORMAT
from omnigraph.errors import OmnigraphError
from omnigraph.wire.maintenance import doctor_json

if TYPE_CHECKING:
    from omnigraph.engine.upkeep.doctor import Finding

LIBRARIES = ("omnigraph", "pylance", "pyarrow", "numpy", "duckdb", "obstore", "pyspark", "scipy", "pandas", "polars")
"""Libraries whose versions are reported; those from pyspark on are optional."""

COLOURS = {"ok": "green", "advice": "yellow", "problem": "red"}


@click.command("doctor")
@uri_argument
@may_read_graph
@branch_option
@json_option
def command(address: Address | None, branch: str, as_json: bool) -> int:
    """Check this machine and a graph, and give advice.

    Without a graph only the machine is checked. Exits with 1 if there is a problem; advice is not a problem.
    """
    findings = [*_machine(), *(_graph(address, branch) if address else ())]
    problems = sum(finding.verdict.value == "problem" for finding in findings)
    if as_json:
        say_json(doctor_json(address.uri if address else None, findings, problems))
    else:
        for finding in findings:
            _say_finding(finding)
        advice = sum(finding.verdict.value == "advice" for finding in findings)
        verdict = paint("problems", "red", bold=True) if problems else paint("ok", "green", bold=True)
        say(f"{verdict}: {count(problems, 'problem')}, {count(advice, 'piece', 'pieces')} of advice")
    return FAILED if problems else OK


def _say_finding(finding: Finding) -> None:
    verdict = finding.verdict.value
    say(f"{paint(verdict.ljust(8), COLOURS[verdict])}{finding.check}: {finding.found}")
    if finding.advice:
        say(f"        {paint('hint', 'cyan')}: {finding.advice}")


def _machine() -> Iterator[Finding]:
    from omnigraph.engine.upkeep.doctor import Finding

    yield Finding("python", platform.python_version())
    for name in LIBRARIES:
        try:
            yield Finding(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, "not installed")
    yield Finding("storage format", str(STORAGE_FORMAT))
    yield _java()


def _java() -> Finding:
    from omnigraph.engine.upkeep.doctor import Finding, Verdict
    from omnigraph.errors import SparkUnavailable
    from omnigraph.spark.cluster.java import find_java, java_major

    try:
        java = find_java(os.environ)
        return Finding("java", f"{java_major(str(java))} ({java})")
    except SparkUnavailable as error:
        return Finding("java", error.message, Verdict.ADVICE, f"only Spark needs it: {error.command_hint}")


def _graph(address: Address, branch: str) -> Iterator[Finding]:
    from omnigraph.engine.upkeep.doctor import Finding, Verdict

    try:
        graph = address.open()
        findings = graph.doctor(branch)
    except OmnigraphError as error:
        yield Finding("graph", error.message, Verdict.PROBLEM, error.command_hint)
        return
    yield Finding("graph", graph.uri)
    yield from findings
