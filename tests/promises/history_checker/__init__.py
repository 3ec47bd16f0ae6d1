"""A checker of transaction histories after Elle, and a workload that makes histories under faults.

The checker is pure: it takes what clients saw and finds the dependency cycles that no serial order explains. The
workload runs real processes on one graph, kills some of them, and hands what they noted to the checker.

**Level.** Strict serializability of each branch. Transactions of the workload read at one snapshot and write with
`if_commit`, so that everything they read is validated at the swap; blind writes read nothing; a snapshot is the newest
state when it is taken. The snapshot isolation that the engine gives to mutations without `if_commit` allows write skew
between what a program read earlier and what it writes; such programs are not part of the workload. Merges carry the
lists of a branch to `main` at a later moment: reads of `main` are checked for serializability with the transactions of
the branch (a merge shows a transaction whole or not at all), and for recency only with those of `main`.
"""
