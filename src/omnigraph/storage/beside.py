"""Committing a manifest version beside its dataset, so that its content is durable before its name exists.

Lance links ``_versions/N.manifest`` before the content is on disk: a power cut in between leaves a newest version of
zero bytes. Therefore Lance commits into a scratch directory that holds nothing but a hard link to the current version;
the new manifest is synced there and then linked into the real ``_versions``. That link is the compare-and-swap: it
fails if the version exists. The data files are written into the real dataset before; a commit does not read them.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import lance
from lance import LanceDataset, Transaction

from omnigraph.storage.failures import translated
from omnigraph.storage.files import manifest_file
from omnigraph.storage.uri import Root

DIRECTORY = "_beside"
"""Scratch directories of commits, below the manifest. Those of killed processes are removed by cleanup."""


@contextmanager
def committed_beside(root: Root, location: str, transaction: Transaction) -> Iterator[str]:
    """Commit on top of the version that the transaction has read; gives the path of the new manifest.

    The scratch directory is removed afterwards: whoever needs the manifest links it elsewhere before.
    """
    scratch = f"{location}/{DIRECTORY}/{uuid.uuid4().hex}"
    version = transaction.read_version
    with translated("the manifest could not be staged", location=location):
        try:
            os.makedirs(root.local(f"{scratch}/_versions"))
            os.link(root.local(manifest_file(location, version)), root.local(manifest_file(scratch, version)))
            base = lance.dataset(root.table_uri(scratch), version=version)
            made = LanceDataset.commit(base, transaction, max_retries=0)
        except BaseException:
            shutil.rmtree(root.local(scratch), ignore_errors=True)
            raise
    try:
        yield manifest_file(scratch, made.version)
    finally:
        shutil.rmtree(root.local(scratch), ignore_errors=True)
