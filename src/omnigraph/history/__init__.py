"""The state of a branch, its commits, and every decision about them. Pure: nothing here reads or writes."""
