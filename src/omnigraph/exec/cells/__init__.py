"""Single values and rows by id from memory, without Arrow arrays: for queries and lists that meet few rows."""
