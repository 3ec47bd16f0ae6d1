"""Omnigraph on Spark: bulk load and the data source, for data that one machine should not carry.

Needs the extra ``spark``: ``pip install "omnigraph[spark]"``. Nothing here starts a JVM before it is asked to.
"""

from omnigraph.spark.load import load
from omnigraph.spark.session import check_session, register, session

__all__ = ["check_session", "load", "register", "session"]
