"""Tables of other formats: Iceberg and Delta tables that exports write, as Parquet files and a version that lists them.

Owns the libraries of the two formats, which are extras, and translates their errors. Rows are written and read as
Parquet by the callers: this package decides the types of columns and the names of files, and commits.
"""
