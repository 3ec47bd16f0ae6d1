"""Reader processes: interpreters of their own that run queries for the front, which accepts, authorises and writes."""
