"""The client of an S3 bucket, made from the options that a user gave."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING

from omnigraph.storage.objects.s3_options import split_options

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


REQUEST_SECONDS_MAX = 30
"""For one conditional delete, and for how long its signature is valid."""


def delete_matching(store: S3Store, path: str, e_tag: str) -> bool | None:
    """Delete an object if it still has this ETag; None if the store did not say whether it did.

    The client library has no conditional delete, but it signs requests: ``If-Match`` need not be part of a signature.
    """
    import obstore

    url = obstore.sign(store, "DELETE", path, timedelta(seconds=REQUEST_SECONDS_MAX))
    request = urllib.request.Request(url, method="DELETE", headers={"If-Match": e_tag})
    try:
        with urllib.request.urlopen(request, timeout=REQUEST_SECONDS_MAX):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        is_refused = error.code in (HTTPStatus.PRECONDITION_FAILED, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
        return False if is_refused else None
    except OSError:
        return None
