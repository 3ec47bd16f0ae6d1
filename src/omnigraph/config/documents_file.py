"""Document pipelines in YAML files, as ``ingest.documents.pipeline`` reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from omnigraph.config.mapping_file import read_yaml
from omnigraph.errors import UsageError


def read_pipeline_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the pipeline in a YAML file. It is checked when it is used, against the schema."""
    name = os.fspath(path)
    found = read_yaml(name)
    if not isinstance(found, Mapping):
        raise UsageError(
            f"{name} contains no pipeline", hint="expected the keys `documents:`, `chunks:` and `mentions:`", path=name
        )
    return {str(key): value for key, value in found.items()}
