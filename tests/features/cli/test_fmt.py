"""`omnigraph fmt`."""

import json
import os
from pathlib import Path

import pytest

from tests.features.cli.run import EXAMPLES, run

UNTIDY = "node  A{x:String // a comment\n}"
TIDY = "node A {\n  x: String // a comment\n}\n"


@pytest.fixture
def untidy(tmp_path: Path) -> Path:
    file = tmp_path / "untidy.pg"
    file.write_text(UNTIDY)
    return file


def test_a_file_is_formatted_in_place_and_keeps_its_mode(untidy: Path) -> None:
    untidy.chmod(0o750)
    result = run("fmt", untidy)
    assert (result.exit_code, result.stdout) == (0, f"formatted {untidy}\n")
    assert result.stderr == "1 file formatted\n"
    assert untidy.read_text() == TIDY
    assert untidy.stat().st_mode & 0o777 == 0o750
    assert os.listdir(untidy.parent) == [untidy.name]


def test_a_formatted_file_is_not_written_again(untidy: Path) -> None:
    run("fmt", untidy)
    before = untidy.stat()
    result = run("fmt", untidy)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "1 file already formatted\n")
    after = untidy.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_link_stays_a_link(untidy: Path) -> None:
    link = untidy.with_name("link.pg")
    link.symlink_to(untidy.name)
    run("fmt", link)
    assert link.is_symlink()
    assert untidy.read_text() == TIDY


def test_check_lists_what_would_change_and_changes_nothing(untidy: Path) -> None:
    result = run("fmt", "--check", untidy, EXAMPLES / "social.pg")
    assert (result.exit_code, result.stdout) == (1, f"would reformat {untidy}\n")
    assert untidy.read_text() == UNTIDY
    assert run("fmt", "--check", EXAMPLES / "social.pg").exit_code == 0


def test_diff_shows_what_would_change_and_changes_nothing(untidy: Path) -> None:
    result = run("fmt", "--diff", untidy)
    assert result.exit_code == 0
    assert "-node  A{x:String // a comment\n+node A {\n+  x: String // a comment\n }\n" in result.stdout
    assert untidy.read_text() == UNTIDY
    assert run("fmt", "--diff", "--check", untidy).exit_code == 1


def test_standard_input_is_formatted_to_standard_output() -> None:
    result = run("fmt", "--stdin", "--lang", "pg", stdin=UNTIDY)
    assert (result.exit_code, result.stdout, result.stderr) == (0, TIDY, "")
    assert run("fmt", "--stdin", "--lang", "pg", "--check", stdin=UNTIDY).exit_code == 1
    assert run("fmt", "--stdin", "--lang", "pg", "--check", stdin=TIDY).exit_code == 0
    assert "+node A {" in run("fmt", "--stdin", "--lang", "pg", "--diff", stdin=UNTIDY).stdout


def test_standard_input_that_is_wrong_gives_nothing_but_diagnostics() -> None:
    result = run("fmt", "--stdin", "--lang", "gq", stdin="query q(")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("<stdin>:1:")
    result = run("fmt", "--stdin", "--lang", "gq", stdin=b"\xff")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "<stdin> is not UTF-8 text" in result.stderr


def test_a_file_with_syntax_errors_stays_as_it_is_and_the_others_are_formatted(untidy: Path) -> None:
    broken = untidy.with_name("broken.gq")
    broken.write_text("query q( {")
    result = run("fmt", broken, untidy)
    assert result.exit_code == 1
    assert broken.read_text() == "query q( {"
    assert f"{broken}:1:" in result.stderr
    assert "^" in result.stderr
    assert untidy.read_text() == TIDY
    assert result.stderr.endswith("1 file formatted, 1 file not formatted because of errors\n")


def test_a_name_that_tells_no_language_needs_lang(tmp_path: Path) -> None:
    file = tmp_path / "schema.txt"
    file.write_text(UNTIDY)
    result = run("fmt", file)
    assert result.exit_code == 1
    assert "hint: pass --lang pg or --lang gq" in result.stderr
    assert run("fmt", "--lang", "pg", file).exit_code == 0
    assert file.read_text() == TIDY


def test_a_file_that_may_not_be_written_is_not_replaced(untidy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    untidy.chmod(0o444)
    if os.geteuid() == 0:  # root may write everything
        monkeypatch.setattr(os, "access", lambda *_: False)
    result = run("fmt", untidy)
    assert result.exit_code == 1
    assert f"cannot write {untidy}: permission denied" in result.stderr
    assert untidy.read_text() == UNTIDY


def test_a_failed_replacement_leaves_the_old_file_and_nothing_else(
    untidy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    result = run("fmt", untidy)
    assert result.exit_code == 1
    assert f"cannot write {untidy}: no space left on device" in result.stderr
    assert untidy.read_text() == UNTIDY
    assert os.listdir(untidy.parent) == [untidy.name]


@pytest.mark.parametrize("words", [[], ["--stdin"], ["--stdin", "--lang", "pg", "a.pg"], ["--stdin", "--lang", "sql"]])
def test_unclear_calls_are_usage_errors(words: list[str]) -> None:
    assert run("fmt", *words).exit_code == 2


def test_json_lists_every_file(untidy: Path) -> None:
    missing = untidy.with_name("missing.pg")
    result = run("fmt", "--check", "--diff", "--json", untidy, EXAMPLES / "social.gq", missing)
    report = json.loads(result.stdout)
    assert (result.exit_code, report["status"], result.stderr) == (1, "error", "")
    assert [file["status"] for file in report["files"]] == ["would_change", "unchanged", "error"]
    assert "+node A {" in report["files"][0]["diff"]
    assert report["files"][2]["code"] == "not_found"
    [stdin] = json.loads(run("fmt", "--stdin", "--lang", "pg", "--json", stdin=UNTIDY).stdout)["files"]
    assert stdin["text"] == TIDY
