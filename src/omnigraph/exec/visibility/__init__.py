"""Data scopes applied to rows outside of queries: of mutations, blobs, views and changes."""
