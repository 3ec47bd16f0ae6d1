"""``omnigraph external``: lists, dry runs, refreshes and their JSON, and the notes of other commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.features.cli.run import run
from tests.features.external.shop import Shop, write_rows


def _json(*words: Any, code: int = 0) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_list_shows_versions_and_with_check_what_changed(shop: Shop) -> None:
    uri = shop.graph.uri
    listed = run("external", "list", uri)
    assert listed.stdout.splitlines()[0].split() == ["type", "format", "address", "version", "files", "rows"]
    [form] = _json("external", "list", uri, "--check")["external_types"]
    assert form == {
        "kind": "node",
        "name": "Order",
        "format": "parquet",
        "address": f"{shop.orders}/*.parquet",
        "version": None,
        "files": 1,
        "bytes": (shop.orders / "a.parquet").stat().st_size,
        "rows": 5,
        "problem": None,
    }
    shop.remove("a")
    checked = run("external", "list", uri, "--check")
    assert checked.exit_code == 1
    assert f"changed: Order: '{shop.orders}/a.parquet' is missing" in checked.stderr


def test_a_refresh_previews_commits_and_repeats(shop: Shop) -> None:
    uri = shop.graph.uri
    shop.write("b", 6)
    preview = run("external", "refresh", uri, "--dry-run")
    assert "would change 1 entity on main; nothing was changed" in preview.stdout
    assert _json("external", "refresh", uri, "--dry-run")["tables"][0]["inserted"] == 1
    form = _json("external", "refresh", uri, "--type", "Order", "--as", "ann", "--message", "new")
    assert (form["types"], form["commit"]["kind"], form["commit"]["actor_id"]) == (["Order"], "refresh", "ann")
    again = run("external", "refresh", uri)
    assert "ok: nothing is newer than what main pins" in again.stdout
    assert _json("external", "refresh", uri)["commit"] is None


def test_violations_and_wrong_types_are_errors_with_the_next_step(shop: Shop) -> None:
    shop.write("a", 1)
    refused = run("external", "refresh", shop.graph.uri)
    assert refused.exit_code == 1
    assert "Likes 'l2' would lose its node" in refused.stderr
    wrong = run("external", "refresh", shop.graph.uri, "--type", "Person", "--json")
    assert wrong.exit_code == 2
    assert json.loads(wrong.stdout)["code"] == "usage"
    load = run("load", shop.graph.uri, "--data", _lines(shop, '{"type": "Order", "data": {"no": 1}}'))
    assert load.exit_code == 1
    assert "hint: change that table, then run omnigraph external refresh --type Order" in load.stderr


def test_init_and_schema_apply_say_what_was_sealed(tmp_path: Path) -> None:
    write_rows(tmp_path / "orders.parquet", [{"no": 1}])
    write_rows(tmp_path / "placed.parquet", [{"from": "ann", "to": 1}])
    schema = tmp_path / "schema.pg"
    schema.write_text(f'node Order @external("{tmp_path}/orders.parquet") {{ no: I64 @key note: String? }}')
    made = run("init", tmp_path / "g.omni", "--schema", schema)
    assert f"Order: 1 row in 1 file of {tmp_path}/orders.parquet" in made.stdout
    schema.write_text(
        f"{schema.read_text()}\nnode Person {{ name: String @key }}\n"
        f'edge Placed: Person -> Order @external("{tmp_path}/placed.parquet")'
    )
    applied = run("schema", "apply", tmp_path / "g.omni", "--schema", schema)
    assert "note: Placed has no edges yet: load nodes of Person, then refresh it" in applied.stderr
    doctor = run("doctor", tmp_path / "g.omni")
    assert "external node:Order: 1 row in 1 file" in doctor.stdout


@pytest.mark.parametrize(
    "text", ['node A @external("a/b.parquet") { n: I64 @key }', "node A @external { n: I64 @key }"]
)
def test_lint_explains_wrong_annotations(tmp_path: Path, text: str) -> None:
    (tmp_path / "schema.pg").write_text(text)
    assert run("lint", "--schema", tmp_path / "schema.pg").exit_code == 1


def _lines(shop: Shop, *lines: str) -> Path:
    path = shop.orders.parent / "lines.jsonl"
    path.write_text("\n".join(lines))
    return path
