"""The client of an S3 bucket, made from the options that a user gave."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.storage.s3_options import split_options

if TYPE_CHECKING:
    from obstore.store import S3Store


def told(error: Exception) -> str:
    """What a client says of a failure. After the first line it speaks to its own authors."""
    return str(error).partition("\n")[0]


def open_s3(url: str, options: Mapping[str, str]) -> S3Store:
    """A client whose paths are relative to a bucket, or to a prefix of one."""
    from obstore.store import S3Store

    sorted_options = split_options(options, os.environ)
    return S3Store.from_url(
        url,
        config=sorted_options.config,  # type: ignore[arg-type] # options are the user's
        client_options=sorted_options.client,  # type: ignore[arg-type] # the same
        retry_config=sorted_options.retry,  # type: ignore[arg-type] # the same
    )
