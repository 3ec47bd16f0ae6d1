"""External tables: rows of types that stay in Parquet files, Iceberg and Delta tables outside the graph."""
