"""Messages between blocks: rows of a frame that name the block they go to and hold arrays."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from omnigraph.spark.cluster.python_workers import Work, mapped
from omnigraph.spark.cluster.tasks import translated_jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = "block int, sender int, content binary"

FAILURE = -1
"""The sender of a message with an error. Tasks send errors as data: raised, Spark would retry them and keep a text."""


class Message(NamedTuple):
    """Arrays on their way to a block."""

    block: int
    sender: int
    content: Any


Handler = Callable[[int, list[Message]], Iterable[Message]]
"""The work of a block on its messages, which come in the order of their senders; it returns messages to others."""


def packed(messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
    """Messages as batches."""
    for message in messages:
        content = pickle.dumps(message.content, protocol=pickle.HIGHEST_PROTOCOL)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([message.block], pa.int32()),
                pa.array([message.sender], pa.int32()),
                pa.array([content], pa.binary()),
            ],
            names=["block", "sender", "content"],
        )


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    """The messages of batches."""
    for batch in batches:
        for block, sender, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Message(block, sender, pickle.loads(content))


def sent(frame: DataFrame, work: Work) -> DataFrame:
    """The messages that tasks make of the batches of a frame. Lazy."""
    return mapped(frame, work, COLUMNS)


def delivered(messages: DataFrame, blocks: int, handle: Handler) -> DataFrame:
    """Bring messages to their blocks, one task each, and let them be handled there. Lazy.

    A block without a message is not handled.
    """
    arrived = messages.repartitionById(blocks, messages["block"])
    return mapped(arrived, _Handling(handle), COLUMNS)


class _Handling:
    """Hands every block of a partition its messages; errors pass through to the driver."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrived: dict[int, list[Message]] = {}
        for message in unpacked(batches):
            if message.sender == FAILURE:
                yield from packed([message])
                return
            arrived.setdefault(message.block, []).append(message)
        for block in sorted(arrived):
            yield from packed(self._handle(block, sorted(arrived.pop(block), key=lambda message: message.sender)))


def collected(messages: DataFrame) -> list[Message]:
    """Run the job and return what arrives at the driver, by block; raises an error that a task sent."""
    with translated_jobs():
        table = messages.toArrow()
    found = sorted(unpacked(table.to_batches()), key=lambda message: (message.block, message.sender))
    for message in found:
        if message.sender == FAILURE:
            raise message.content
    return found
