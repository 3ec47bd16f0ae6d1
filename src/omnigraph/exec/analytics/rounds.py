"""Checkpoints of iterative algorithms: the state that passes from round to round.

Every few rounds the state replaces one file. Edges are not stored: they are rebuilt from the tables of the same commit.
Rounds are deterministic on every engine, so one process can resume what a cluster began whose driver held the vectors.
"""

from __future__ import annotations

import logging
from typing import Any

from omnigraph.errors import StorageError
from omnigraph.exec.analytics.steps import State, Steps
from omnigraph.storage.objects.protocol import Objects

_ROUNDS = "rounds"

_logger = logging.getLogger(__name__)


class Rounds:
    """Rounds without checkpoints."""

    def begin(self, steps: Steps, **state: Any) -> State:
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
        self._steps: Steps | None = None
        self._state: State = {}
        self._kept: State = {}
        self._made = 0

    def begin(self, steps: Steps, **state: Any) -> State:
        """The state of the checkpoint, if there is one."""
        self._steps, self._state = steps, state
        content = self._objects.read(self._name)
        if content is not None:
            try:
                found = steps.unpack(content, {**state, _ROUNDS: 0})
            except ValueError as error:
                raise StorageError(
                    f"the checkpoint {self._name} cannot be used: {error}", hint="delete it to restart the analysis"
                ) from error
            self._made = int(found.pop(_ROUNDS))
            self._state = self._kept = found
            _logger.info("%s: resuming after round %d", self._name, self._made)
        return dict(self._state)

    def end_round(self, **changed: Any) -> None:
        assert self._steps is not None, "rounds begin before they end"
        self._state = {**self._state, **changed}
        self._made += 1
        if self._made % self._kept_every == 0:
            self._objects.replace(self._name, self._steps.pack({**self._state, _ROUNDS: self._made}))
            # A cluster deletes vectors that are no longer held, and the file may only name existing ones.
            self._kept = self._state

    def done(self) -> None:
        self._objects.delete(self._name)
