"""The small files of a root, by the kind of its store."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.local import LocalObjects
from omnigraph.storage.objects.protocol import Objects
from omnigraph.storage.objects.s3 import S3Objects
from omnigraph.storage.objects.uri import Root


def open_objects(root: Root, options: Mapping[str, str], durability: Durability) -> Objects:
    """The small files of a root."""
    return LocalObjects(root, durability) if root.is_local else S3Objects(root, options)
