"""What passes from round to round of an iterative algorithm, and keeping it for the case that the program ends.

Vectors are kept, eight bytes a node, every few rounds, in one file that is replaced. Edges are not: they are made again
from the tables of the same commit. A round gives the same wherever it is made, so one process may go on with what a
cluster began.
"""

from __future__ import annotations

import io
import logging
import zipfile
from typing import Any

import numpy as np

from omnigraph.errors import StorageError
from omnigraph.exec.analytics.steps import Vector
from omnigraph.storage.objects.protocol import Objects

KEPT_EVERY = 5
"""Rounds from one file to the next. At most so many are made twice."""

_ROUNDS = "rounds"

_logger = logging.getLogger(__name__)

State = dict[str, Vector]


class Rounds:
    """The rounds of an algorithm of which nothing is kept."""

    def begin(self, **state: Any) -> State:
        """What the first round starts from."""
        return state

    def end_round(self, **changed: Any) -> None:
        """A round is over, and these vectors and numbers have changed."""

    def done(self) -> None:
        """The algorithm is at its end."""


NOTHING_KEPT = Rounds()


class KeptRounds(Rounds):
    """Rounds that can be gone on with: of one analysis, which the name of the file stands for."""

    def __init__(self, objects: Objects, name: str) -> None:
        self._objects = objects
        self._name = name
        self._state: State = {}
        self._made = 0

    def begin(self, **state: Any) -> State:
        """What was kept, if there is something."""
        self._state = {name: np.asarray(value) for name, value in state.items()}
        content = self._objects.read(self._name)
        if content is not None:
            found = self._unpacked(content)
            self._made = int(found.pop(_ROUNDS))
            self._state = found
            _logger.info("%s: goes on after round %d", self._name, self._made)
        return dict(self._state)

    def end_round(self, **changed: Any) -> None:
        self._state |= {name: np.asarray(value) for name, value in changed.items()}
        self._made += 1
        if self._made % KEPT_EVERY == 0:
            packed = io.BytesIO()
            arrays: dict[str, Any] = {**self._state, _ROUNDS: np.asarray(self._made)}
            np.savez(packed, **arrays)
            self._objects.replace(self._name, packed.getvalue())

    def done(self) -> None:
        self._objects.delete(self._name)

    def _unpacked(self, content: bytes) -> State:
        """Vectors of the same names, kinds and lengths as the algorithm begins with; anything else is an error."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
        except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
            raise self._unusable(str(error)) from error
        expected = {name: (value.dtype, value.shape) for name, value in self._state.items()}
        if {name: (value.dtype, value.shape) for name, value in found.items() if name != _ROUNDS} != expected:
            raise self._unusable("it holds something else")
        return found

    def _unusable(self, why: str) -> StorageError:
        return StorageError(
            f"the checkpoint {self._name} cannot be used: {why}", hint="delete it, and the analysis begins anew"
        )
