"""Published files work anywhere: no path of a developer's machine, and no broken link."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source_tree import REPOSITORY

# Put together from pieces, so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:" + "|".join(["wo" + "rk", "ro" + "ot"]) + r")/")
REGISTRY_HOST = re.compile("|".join([r"py" + r"pi\.org", r"python" + r"hosted\.org", "arti" + "factory", "dev" + "pi"]))

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@cache
def _tracked() -> tuple[Path, ...]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    files = (REPOSITORY / name for name in listing.stdout.split("\0") if name)
    return tuple(file for file in files if file.is_file())


def _lines_that_match(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{file.relative_to(REPOSITORY)}:{number}"
        for file in _tracked()
        for number, line in enumerate(file.read_bytes().decode("utf-8", "replace").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_tracked_file_holds_a_path_of_one_machine() -> None:
    assert not _lines_that_match(MACHINE_PATH)


def test_no_tracked_file_names_a_package_registry() -> None:
    assert not _lines_that_match(REGISTRY_HOST)


def test_the_lock_holds_only_versions_and_hashes() -> None:
    requirement = re.compile(r"[a-z0-9][a-z0-9._-]*==\S+( ; .+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?|#.*")
    lines = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if not requirement.fullmatch(line)]


def test_every_relative_link_in_the_documentation_leads_somewhere() -> None:
    broken = []
    for file in _tracked():
        if file.suffix != ".md":
            continue
        for target in LINK.findall(file.read_text(encoding="utf-8")):
            path = target.split("#")[0]
            if "://" not in target and path and not (file.parent / path).exists():
                broken.append(f"{file.relative_to(REPOSITORY)}: {target}")
    assert not broken
