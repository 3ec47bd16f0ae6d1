"""pytest fixtures of the fault tools. A conftest that wants them imports them by name."""

from collections.abc import Iterator

import pytest

from tests.support.faults.s3 import Bucket, Server
from tests.support.faults.tracer import why_unavailable


@pytest.fixture(scope="session")
def s3_server() -> Iterator[Server]:
    """One S3 server per test process, which with xdist is one per worker."""
    server = Server.start()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def s3_bucket(s3_server: Server) -> Bucket:
    """An empty bucket, with the counts of the shared proxy at zero."""
    bucket = s3_server.bucket()
    s3_server.proxy.reset()
    return bucket


@pytest.fixture(scope="session")
def tracing() -> None:
    """Skips the test where programs cannot be traced."""
    reason = why_unavailable()
    if reason is not None:
        pytest.skip(reason)
