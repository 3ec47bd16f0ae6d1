"""The fault tools, for the tests of interrupted runs."""

from tests.support.faults.fixtures import s3_server, tracing

__all__ = ["s3_server", "tracing"]
