"""Multiplicities on Spark: the number of equal rows that one row stands for.

Invariant: replacing a row of multiplicity n by n equal rows of multiplicity 1 never changes a result. Joins multiply
multiplicities, and grouping adds them up. Both are exact in 64 bits or fail: a wrapped count would be silently wrong.

Example: Ann knows Bob and Cid, both know Dan, and Cid knows Eve. A query that needs only the ends of two hops from Ann
keeps one row per node:

=====  ====  ==================  ============
hop    node  reached from        multiplicity
=====  ====  ==================  ============
start  Ann                       1
1      Bob   Ann                 1
1      Cid   Ann                 1
2      Dan   Bob and Cid: 1 + 1  2
2      Eve   Cid                 1
=====  ====  ==================  ============

The query has 2 + 1 = 3 matches in two rows. A row of multiplicity 2 that is joined with one of 3 gets 2 * 3 = 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

TOO_MANY = "the pattern has more matches than a 64-bit integer counts"


def total(multiplicities: Column) -> Column:
    """The sum of the multiplicities of a group; null for a group without values."""
    from pyspark.sql import functions as f

    added = f.try_sum(multiplicities)
    # try_sum gives null both for an overflow and for no values: only the first is an error.
    return f.when(added.isNull() & (f.count(multiplicities) > 0), _refused()).otherwise(added)


def product(left: Column, right: Column) -> Column:
    """The product of two multiplicities, row by row. Neither may be null: null means overflow here."""
    from pyspark.sql import functions as f

    multiplied = f.try_multiply(left, right)
    return f.when(multiplied.isNull(), _refused()).otherwise(multiplied)


def _refused() -> Column:
    from pyspark.sql import functions as f

    return f.raise_error(f.lit(TOO_MANY)).cast("long")
