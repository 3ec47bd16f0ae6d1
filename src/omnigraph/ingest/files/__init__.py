"""Files of other tools: CSV, JSON, Parquet and Arrow, compressed or not, on disk, in a bucket or from a stream."""
