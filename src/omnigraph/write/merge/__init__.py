"""Three-way merge of branches, and revert, which is a merge with the sides exchanged."""
