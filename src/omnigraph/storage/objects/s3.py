"""The row of S3: its client, its conditional delete, and what to check when a bucket cannot be used."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING

from omnigraph.errors import Hint
from omnigraph.storage.objects.bucket import BucketBackend
from omnigraph.storage.objects.s3_options import split_options

if TYPE_CHECKING:
    from obstore.store import ObjectStore

REQUEST_SECONDS_MAX = 30
"""Timeout of one conditional delete, and the validity of its signature."""

_CREDENTIALS = ("aws_access_key_id", "access_key_id", "aws_profile", "profile", "aws_skip_signature", "skip_signature")
CREDENTIAL_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
)


class S3Backend(BucketBackend):
    """Amazon S3 and servers with its interface, such as MinIO."""

    scheme = "s3"
    aliases = ("s3a", "s3n")

    def connect(self, url: str, options: Mapping[str, str]) -> ObjectStore:
        from obstore.store import S3Store

        sorted_options = split_options(options, os.environ)
        return S3Store.from_url(
            url,
            config=sorted_options.config,  # type: ignore[arg-type] # options are the user's
            client_options=sorted_options.client,  # type: ignore[arg-type] # the same
            retry_config=sorted_options.retry,  # type: ignore[arg-type] # the same
        )

    def delete_matching(self, client: ObjectStore, path: str, e_tag: str) -> bool | None:
        """Send a signed DELETE with ``If-Match``.

        The client library has no conditional delete, but it signs requests: ``If-Match`` need not be part of a
        signature.
        """
        import urllib.error
        import urllib.request

        import obstore
        from obstore.store import S3Store

        assert isinstance(client, S3Store)
        url = obstore.sign(client, "DELETE", path, timedelta(seconds=REQUEST_SECONDS_MAX))
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

    def hint(self, options: Mapping[str, str], environment: Mapping[str, str]) -> str | Hint:
        given = {key.lower() for key, value in options.items() if value}
        if given.isdisjoint(_CREDENTIALS) and not any(environment.get(name) for name in CREDENTIAL_VARIABLES):
            given_by = "no credentials were given: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or pass"
            return Hint(
                f"{given_by} storage_options={{...}}; a public bucket needs aws_skip_signature=true",
                f"{given_by} --storage-option KEY=VALUE; a public bucket needs aws_skip_signature=true",
            )
        return (
            "check that the bucket exists; check the address, the credentials, the region and the endpoint "
            "(AWS_* variables or storage options)"
        )
