"""The container image and the service unit, checked without building or starting them."""

import re
import tomllib
from pathlib import Path

import click

from omnigraph.cli.commands.serve import command
from tests.architecture.source_tree import REPOSITORY

LINES = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
STEPS = [line.split(None, 1) for line in LINES if line.strip() and not line.startswith("#")]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BASE = re.compile(r"python:(\d+\.\d+)-slim")


def arguments(name: str) -> list[str]:
    return [rest for step, rest in STEPS if step == name]


def test_both_stages_start_from_the_slim_image_of_a_supported_python() -> None:
    images = [rest.split()[0] for rest in arguments("FROM")]
    assert len(images) == 2
    for image in images:
        found = BASE.fullmatch(image)
        assert found is not None, "a plain name: where images come from is a setting of the machine that builds them"
        assert PROJECT["requires-python"] == f">={found[1]}"


def test_the_image_runs_without_root_and_writes_only_to_its_volume() -> None:
    last = max(number for number, (step, _) in enumerate(STEPS) if step == "FROM")
    final = STEPS[last:]
    assert [rest for step, rest in final if step == "USER"] == ["10001:10001"]
    user = next(number for number, (step, _) in enumerate(final) if step == "USER")
    assert not [step for step, _ in final[user:] if step in ("RUN", "COPY", "ADD")], "nothing is written as that user"
    assert arguments("VOLUME") == ["/data"]
    settings = " ".join(rest for step, rest in final if step == "ENV")
    for setting in ("PYTHONDONTWRITEBYTECODE=1", "HOME=/tmp", "XDG_CACHE_HOME=/tmp", "OMNIGRAPH_BIND=0.0.0.0:8080"):
        assert setting in settings
    assert not re.search(r"TOKEN|SECRET|PASSWORD|KEY", settings)


def test_the_image_is_started_and_checked_without_a_shell() -> None:
    assert arguments("ENTRYPOINT") == ['["omnigraph"]']
    assert arguments("STOPSIGNAL") == ["SIGTERM"]
    [check] = arguments("HEALTHCHECK")
    assert 'CMD ["python"' in check
    assert "/readyz" in check


def test_the_build_takes_only_files_that_exist_and_that_the_ignore_file_allows() -> None:
    assert not arguments("ADD"), "ADD would fetch addresses"
    rules = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert rules[1] == "*", "everything is left out that is not named"
    allowed = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    copied = {
        source.removeprefix("./") for rest in arguments("COPY") if "--from" not in rest for source in rest.split()[:-1]
    }
    assert copied == allowed
    assert [name for name in copied if not (REPOSITORY / name).exists()] == []


def test_every_requirement_of_the_server_has_a_locked_version() -> None:
    [build] = [rest for rest in arguments("RUN") if "pip install" in rest]
    pattern = re.search(r"grep -oE '([^']+)' requirements\.lock", build)
    extras = re.search(r"\"\.\[([\w,]+)\]\"", build)
    assert pattern is not None
    assert extras is not None
    lock = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")
    locked = {found.split("==")[0].lower() for found in re.findall(pattern[1], lock, re.MULTILINE)}
    wanted = [*PROJECT["dependencies"]]
    for extra in extras[1].split(","):
        wanted += PROJECT["optional-dependencies"][extra]
    names = {re.split(r"[\[><=]", requirement)[0].strip().lower() for requirement in wanted}
    assert "pyjwt" in names
    assert names - locked == set()


def _page(name: str) -> str:
    return (REPOSITORY / "docs" / "user" / name).read_text(encoding="utf-8")


def test_the_service_unit_and_the_container_of_the_page_use_options_that_exist(tmp_path: Path) -> None:
    [started] = re.findall(r"^ExecStart=\S+/omnigraph serve (.*)$", _page("server.md"), re.MULTILINE)
    known = {name for option in command.params if isinstance(option, click.Option) for name in option.opts}
    # Options of every command are added when the program starts.
    assert {word for word in started.split() if word.startswith("--")} <= known | {"--log-format"}
    [seconds] = re.findall(r"^TimeoutStopSec=(\d+)$", _page("server.md"), re.MULTILINE)
    from omnigraph.server.run import GRACE_SECONDS

    assert int(seconds) > GRACE_SECONDS
    assert "docker build -t omnigraph ." in _page("server.md")
    assert "docker build -t omnigraph ." in (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
