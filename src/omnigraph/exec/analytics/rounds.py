"""Checkpoints of iterative algorithms: the state that passes from round to round.

Every few rounds the state vectors, eight bytes per node, replace one file. Edges are not stored: they are rebuilt from
the tables of the same commit. Rounds are deterministic on every engine, so one process can resume what a cluster
began.
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

_ROUNDS = "rounds"

_logger = logging.getLogger(__name__)

State = dict[str, Vector]


class Rounds:
    """Rounds without checkpoints."""

    def begin(self, **state: Any) -> State:
        """The state that the first round starts from."""
        return state

    def end_round(self, **changed: Any) -> None:
        """Record the state that changed in a round."""

    def done(self) -> None:
        """Record the end of the algorithm."""


NOTHING_KEPT = Rounds()


class KeptRounds(Rounds):
    """Rounds with a checkpoint file; its name identifies the analysis."""

    def __init__(self, objects: Objects, name: str, kept_every: int) -> None:
        self._kept_every = kept_every
        self._objects = objects
        self._name = name
        self._state: State = {}
        self._made = 0

    def begin(self, **state: Any) -> State:
        """The state of the checkpoint, if there is one."""
        self._state = {name: np.asarray(value) for name, value in state.items()}
        content = self._objects.read(self._name)
        if content is not None:
            found = self._unpacked(content)
            self._made = int(found.pop(_ROUNDS))
            self._state = found
            _logger.info("%s: resuming after round %d", self._name, self._made)
        return dict(self._state)

    def end_round(self, **changed: Any) -> None:
        self._state |= {name: np.asarray(value) for name, value in changed.items()}
        self._made += 1
        if self._made % self._kept_every == 0:
            packed = io.BytesIO()
            arrays: dict[str, Any] = {**self._state, _ROUNDS: np.asarray(self._made)}
            np.savez(packed, **arrays)
            self._objects.replace(self._name, packed.getvalue())

    def done(self) -> None:
        self._objects.delete(self._name)

    def _unpacked(self, content: bytes) -> State:
        """The stored vectors; raises unless names, types and lengths match the initial state."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
        except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
            raise self._unusable(str(error)) from error
        expected = {name: (value.dtype, value.shape) for name, value in self._state.items()}
        if {name: (value.dtype, value.shape) for name, value in found.items() if name != _ROUNDS} != expected:
            raise self._unusable("its content belongs to another analysis")
        return found

    def _unusable(self, why: str) -> StorageError:
        return StorageError(
            f"the checkpoint {self._name} cannot be used: {why}", hint="delete it to restart the analysis"
        )
