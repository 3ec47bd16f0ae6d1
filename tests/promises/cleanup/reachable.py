"""Referenced files of a graph on local disk, computed without the engine from refs, manifests, pins and fragments."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance

FIRST = "18446744073709551614.manifest"
LAST = 2**63
"""Behind the counter of every commit."""

SPARED = ("__manifest/data/", "__manifest/_transactions/", "__manifest/_beside/", "__manifest/_turn")
"""Garbage of live manifests, which alone is not worth a fence."""


def uri(path: Path) -> str:
    return f"file-object-store://{path}"


def files(root: Path) -> set[str]:
    """Everything below the root except caches."""
    found = {str(Path(place, name).relative_to(root)) for place, _, names in os.walk(root) for name in names}
    return {path for path in found if not path.startswith("cache/")}


def manifest_of(root: Path, incarnation: str) -> Path:
    graph_id = json.loads((root / "omnigraph.json").read_text())["graph_id"]
    return root / "__manifest" if incarnation == graph_id else root / "branches" / incarnation / "__manifest"


def incarnations(root: Path) -> dict[str, str]:
    """By name of the branch."""
    stamp = json.loads((root / "omnigraph.json").read_text())
    refs = [json.loads(path.read_text()) for path in root.glob("refs/*.json")]
    return {"main": stamp["graph_id"], **{ref["name"]: ref["incarnation"] for ref in refs}}


def given_up(root: Path) -> dict[str, list[list[int]]]:
    records = sorted(root.glob("cleanup/*.json"))
    if not records:
        return {}
    record = json.loads(records[-1].read_text())
    found: dict[str, list[list[int]]] = {}
    for kind in ("given_up", "gone"):
        for incarnation, spans in record[kind].items():
            found.setdefault(incarnation, []).extend(spans)
    return found


def rows(manifest: Path, version: int | None = None) -> tuple[lance.LanceDataset, list[dict[str, Any]]]:
    dataset = lance.dataset(uri(manifest), version=version)
    return dataset, dataset.to_table().to_pylist()


def commits(root: Path, state: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = [json.loads(row["metadata"]) for row in state if row["object_type"] == "graph_commit"]
    for row in state:
        if row["object_type"] == "log":
            log = lance.dataset(uri(root / row["location"]), version=row["lance_version"])
            found += [json.loads(body) for body in log.to_table(["body"]).column(0).to_pylist()]
    return found


def readable_commits(root: Path) -> dict[str, dict[str, Any]]:
    """Every commit of every branch that nobody has given up."""
    spans = given_up(root)
    found = {}
    for incarnation in incarnations(root).values():
        for commit in commits(root, rows(manifest_of(root, incarnation))[1]):
            place, _, counter = commit["manifest"]
            if not any(first <= counter <= last for first, last, _ in spans.get(place, [])):
                found[commit["id"]] = commit
    return found


def _dataset_files(root: Path, dataset: lance.LanceDataset, location: str) -> Iterator[str]:
    number = dataset.version
    name = f"d{number}" if number >> 63 else f"{2**64 - 1 - number:020d}"
    yield f"{location}/_versions/{name}.manifest"
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        for file in metadata.files:
            yield f"{location}/data/{file.path}"
            beside = root / location / "data" / file.path.removesuffix(".lance")
            yield from (str(path.relative_to(root)) for path in beside.glob("*"))
        if metadata.deletion_file is not None:
            yield f"{location}/{metadata.deletion_file.path(metadata.id)}"
    for index in dataset.describe_indices():
        for segment in index.segments:
            place = root / location / "_indices" / segment.uuid
            yield from (str(path.relative_to(root)) for path in place.rglob("*") if path.is_file())


def pins_at(state: list[dict[str, Any]], place: tuple[str, int, int]) -> set[tuple[str, int]]:
    """The pins of a commit: those of its swap, without what later commits of the same swap have changed."""
    pins = {row["location"]: row["lance_version"] for row in state if row["object_type"] in ("table", "log")}
    made = [json.loads(row["metadata"]) for row in state if row["object_type"] == "graph_commit"]
    later = [commit for commit in made if commit["manifest"][:2] == [*place[:2]] and commit["manifest"][2] > place[2]]
    for commit in sorted(later, key=lambda commit: commit["manifest"][2], reverse=True):
        for _, location, before, *_ in commit["tables"]:
            pins.pop(location, None)
            if before is not None:
                pins[location] = before[0]
    return set(pins.items())


def needed(root: Path) -> set[str]:
    """What must be there, and what may be there for ever."""
    found = {"omnigraph.json"}
    found |= {path for path in files(root) if path.startswith(("refs/", "schemas/", "cleanup/"))}
    # Incarnation, version of its manifest, and the counter of the last commit that counts.
    states: set[tuple[str, int, int]] = set()
    for incarnation in incarnations(root).values():
        manifest = manifest_of(root, incarnation)
        states.add((incarnation, lance.dataset(uri(manifest)).version, LAST))
        found |= {path for path in files(root) if path == f"branches/{incarnation}/named.json"}
        # The names of all versions of a branch that is written to.
        found |= {str(path.relative_to(root)) for path in manifest.glob("_versions/*")}
        mark = manifest / "_published" / f"{lance.dataset(uri(manifest)).version}.json"
        found |= {str(mark.relative_to(root))} & files(root)
    for commit in readable_commits(root).values():
        states.add(tuple(commit["manifest"]))
        found |= {path for path, _, _ in commit["files"]}
    pins: set[tuple[str, int]] = set()
    for place in states:
        manifest = manifest_of(root, place[0])
        dataset, state = rows(manifest, place[1])
        location = str(manifest.relative_to(root))
        found |= set(_dataset_files(root, dataset, location))
        found |= {path for path in files(root) if path == f"{location}/_versions/latest_version_hint.json"}
        pins |= pins_at(state, place)
    for location, version in pins:
        dataset = lance.dataset(uri(root / location), version=version)
        found |= set(_dataset_files(root, dataset, location))
        always = {f"{location}/_versions/{FIRST}", f"{location}/_versions/latest_version_hint.json"}
        found |= always & files(root)
    return found


def garbage(root: Path) -> set[str]:
    """Files that belong to no version and that ``cleanup`` deletes."""
    return {path for path in files(root) - needed(root) if not any(place in path for place in SPARED)}
