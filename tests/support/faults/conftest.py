"""Makes the fixtures of the fault tools available to their own tests."""

from tests.support.faults.fixtures import s3_bucket, s3_server, tracing

__all__ = ["s3_bucket", "s3_server", "tracing"]
