"""The S3 server, for the model of graphs in a bucket."""

from tests.support.faults.fixtures import s3_bucket, s3_server

__all__ = ["s3_bucket", "s3_server"]
