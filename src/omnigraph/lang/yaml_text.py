"""YAML texts as plain values. Unlike PyYAML's safe loader, which keeps the last one, duplicate keys are an error."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from omnigraph.errors import InputError

DUPLICATE_KEY: Final = "duplicate_key"
"""The ``reason`` of the error about a key that is written twice."""


def parse_yaml(content: str | bytes, name: str) -> object:
    """The value of a YAML document; ``name`` is that of its file in errors."""
    import yaml

    try:
        return yaml.load(content, _strict_loader())
    except _strict_loader().DuplicateKey as error:
        raise InputError(f"{name} is not YAML: {error}", path=name, reason=DUPLICATE_KEY) from error
    except yaml.YAMLError as error:
        raise InputError(f"{name} is not YAML: {error}", path=name) from error


@cache
def _strict_loader() -> Any:
    import yaml

    class DuplicateKey(yaml.constructor.ConstructorError):  # type: ignore[misc] # untyped
        """A key that a mapping has twice."""

    class Strict(yaml.SafeLoader):  # type: ignore[misc] # untyped
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: list[object] = []
            for key_node, _ in node.value:
                key = self.construct_object(key_node, deep=True)
                if key in seen:
                    raise DuplicateKey(None, None, f"duplicate key {key!r}", key_node.start_mark)
                seen.append(key)
            return super().construct_mapping(node, deep)

    Strict.DuplicateKey = DuplicateKey
    return Strict
