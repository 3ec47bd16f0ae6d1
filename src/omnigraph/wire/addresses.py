"""The address of a graph in front of a form, for answers of programs that work with several graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def with_uri(uri: str, form: Mapping[str, Any]) -> dict[str, Any]:
    """The form with the ``uri`` of its graph as its first member."""
    return {"uri": uri, **form}
