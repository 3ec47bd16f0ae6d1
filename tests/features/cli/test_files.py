"""Files that are not what they should be, for every command that reads one."""

import errno
import json
import os
from pathlib import Path

import pytest

from tests.features.cli.run import EXAMPLES, run

SCHEMA = EXAMPLES / "social.pg"

READERS = {
    "lint schema": ["lint", "--schema", "{file}"],
    "lint query": ["lint", "--schema", str(SCHEMA), "--query", "{file}"],
    "explain schema": ["explain", "--schema", "{file}", "-e", "query q() { match { $p: Person } return { $p } }"],
    "explain query": ["explain", "--schema", str(SCHEMA), "--query", "{file}"],
    "plan from": ["schema", "plan", "--from", "{file}", "--to", str(SCHEMA)],
    "plan to": ["schema", "plan", "--from", str(SCHEMA), "--to", "{file}"],
    "fmt": ["fmt", "{file}"],
}


@pytest.fixture(params=list(READERS))
def reader(request: pytest.FixtureRequest) -> list[str]:
    return READERS[request.param]


def _read(reader: list[str], file: Path, *more: str) -> tuple[int, str, str]:
    result = run(*(word.replace("{file}", str(file)) for word in reader), *more)
    return result.exit_code, result.stdout, result.stderr


def _error(reader: list[str], file: Path) -> str:
    """The error as text, having checked that programs are told the same."""
    status, _, text = _read(reader, file)
    assert status == 1
    status, out, _ = _read(reader, file, "--json")
    assert status == 1
    told = json.loads(out)
    told = told["files"][0] if "files" in told else told
    assert {"error", "code", "hint"} <= set(told)
    assert f"error: {told['error']}" in text
    return text


def _refuse(path: str, mode: str) -> object:
    if path.endswith("secret.pg"):
        raise PermissionError(errno.EACCES, "Permission denied")
    return open(path, mode)


def test_a_missing_file(reader: list[str], tmp_path: Path) -> None:
    assert f"no such file: {tmp_path / 'gone.pg'}" in _error(reader, tmp_path / "gone.pg")


def test_a_missing_directory(reader: list[str], tmp_path: Path) -> None:
    assert f"there is no directory {tmp_path / 'gone'}" in _error(reader, tmp_path / "gone" / "social.pg")


def test_a_misspelled_file_is_told_its_neighbour(reader: list[str], tmp_path: Path) -> None:
    (tmp_path / "social.pg").touch()
    assert "did you mean `social.pg`?" in _error(reader, tmp_path / "sociel.pg")


def test_a_directory_instead_of_a_file(reader: list[str], tmp_path: Path) -> None:
    assert f"{tmp_path} is a directory, not a file" in _error(reader, tmp_path)


def test_a_file_without_permission(reader: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret.pg"
    file.touch(mode=0)
    if os.geteuid() == 0:  # root may read everything, so the refusal of the system has to be played
        monkeypatch.setattr("omnigraph.cli.args.files.open", _refuse, raising=False)
    assert f"cannot read {file}: permission denied" in _error(reader, file)


def test_a_path_through_a_file(reader: list[str]) -> None:
    assert "not a directory" in _error(reader, SCHEMA / "x.pg")


def test_a_file_that_is_not_utf_8(reader: list[str], tmp_path: Path) -> None:
    file = tmp_path / "latin.pg"
    file.write_bytes("node A {}\n// café".encode("latin-1"))
    assert f"{file} is not UTF-8 text: byte 0xe9 in line 2" in _error(reader, file)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs a file without an end")
def test_a_file_without_an_end() -> None:
    assert "is larger than 32 MiB" in _error(READERS["lint schema"], Path("/dev/zero"))


def test_an_empty_schema_is_valid_and_mentioned(tmp_path: Path) -> None:
    file = tmp_path / "empty.pg"
    file.touch()
    result = run("lint", "--schema", file)
    assert result.exit_code == 0
    assert f"note: {file} declares no types\n" in result.stdout


def test_an_empty_query_file_is_valid_and_mentioned(tmp_path: Path) -> None:
    file = tmp_path / "empty.gq"
    file.touch()
    result = run("lint", "--schema", SCHEMA, "--query", file)
    assert result.exit_code == 0
    assert f"note: {file} holds no queries\n" in result.stdout


def test_an_empty_file_holds_nothing_to_explain(tmp_path: Path) -> None:
    file = tmp_path / "empty.gq"
    file.touch()
    result = run("explain", "--schema", SCHEMA, "--query", file)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {file} is empty\n")


def test_a_byte_order_mark_and_windows_line_ends_are_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "windows.pg"
    file.write_bytes(b"\xef\xbb\xbfnode A {\r\n  name: String @key\r\n}\r\n")
    assert run("lint", "--schema", file).exit_code == 0


def test_a_file_name_that_is_not_text_can_be_shown(tmp_path: Path) -> None:
    file = os.fsencode(tmp_path) + b"/we\xffrd.pg"
    try:
        with open(file, "wb") as handle:
            handle.write(b"node A {}")
    except OSError:
        pytest.skip("the file system wants names to be text")
    result = run("lint", "--schema", os.fsdecode(file))
    assert result.exit_code == 0
    assert "rd.pg" in result.stdout
