"""Group commit across the processes of one machine: a writer that waits for its turn offers its change to the holder.

The holder of a turn publishes the changes that others have offered together with its own: one swap, one set of syncs
and one new state for all. A writer that gets through finds its commit in the newest state, or publishes it itself.

Invariant: a change is published at most once, and no failure is reported for one that is or may still be published.

- Only the holder of the turn takes offers, in one attempt: if that swap is lost, they are dropped.
- A writer withdraws its offer before it does anything else. If the offer was taken, and the turn is its own, the taker
  has finished or was killed. If it waited no longer for a suspended holder, that one may still publish the version
  after the newest: until this version is taken the outcome of a failure is unknown.
- The commit has the id that its writer gave it, so the attempt of the slower of both finds it.
- An offer is a statement, never rows: it is prepared by the same code on the newest state. A change that fails there,
  or depends on others of the swap, is left to its writer, which gets the error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Final

from omnigraph.core.commit import CommitKind
from omnigraph.errors import ContentionError, OmnigraphError, OutcomeUnknown
from omnigraph.history.plan import CommitInfo, PublishPlan
from omnigraph.history.rebase import Decision
from omnigraph.history.state import ManifestState
from omnigraph.manifest.queue import Offering, Published, Ticket
from omnigraph.manifest.reader import Capture, Manifests
from omnigraph.manifest.replacement import confirm
from omnigraph.storage.publish.offers import LocalOffer, make_offer, take_offers

_NEVER: Final = 2**62
"""A version that no manifest reaches."""


class OwnOffer:
    """The offer of a group of tickets, from the beginning of their wait until this process publishes what is left."""

    def __init__(self, manifests: Manifests, incarnation: str, tickets: Sequence[Ticket]) -> None:
        self._manifests = manifests
        self._incarnation = incarnation
        self._location = manifests.location(incarnation)
        self._tickets: list[Ticket] = []
        self._file: LocalOffer | None = None
        root = manifests.store.root
        if not root.capabilities.links_versions:
            return
        texts = [(ticket, ticket.offering.text()) for ticket in tickets if ticket.offering is not None]
        shown = [(ticket, text) for ticket, text in texts if text is not None]
        if shown:
            self._tickets = [ticket for ticket, _ in shown]
            self._file = make_offer(root, self._location, _content(shown))

    def __enter__(self) -> OwnOffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.withdraw(is_held=False)

    def settle(self) -> None:
        """Wait for the holder of the turn, and close the tickets that it has published."""
        if self._file is not None:
            self._manifests.store.turns.wait(self._location)
            self.look()

    def look(self) -> None:
        """Close the tickets that another process has published."""
        state = self._manifests.fresh(self._incarnation)
        for ticket in self._tickets:
            commit = state.commit(ticket.plan.info.id)
            if commit is not None:
                try:
                    confirm(self._manifests, state, commit.id)
                    ticket.published = Published(commit, state)
                except OutcomeUnknown as unknown:
                    ticket.fail(unknown)

    def withdraw(self, *, is_held: bool) -> bool:
        """End the offer before this process publishes; True if another one took it and has finished.

        ``is_held`` says that this process holds the turn, so that no other one can be publishing what it took.
        """
        file, self._file = self._file, None
        if file is None or file.withdraw():
            return False
        left = [ticket for ticket in self._tickets if ticket.is_open]
        if not is_held and left:
            # The version that the taker may still publish is at most the next one. One that cannot be looked up is
            # never taken, and the outcome of a failure stays unknown.
            version = _NEVER
            with suppress(OmnigraphError):
                version = self._manifests.fresh(self._incarnation).version + 1
            for ticket in left:
                ticket.unclear = (version, "another process was publishing it")
        return is_held


def take(manifests: Manifests, state: ManifestState, batch: Sequence[Ticket], count_max: int) -> list[Ticket]:
    """Tickets for what other processes offer on a branch, while this one holds its turn. ``state`` is the newest."""
    offering = batch[0].offering
    if offering is None or any(ticket.share is None for ticket in batch):
        # Other writes of this group would have to be decided again behind the offered ones.
        return []
    taken = take_offers(manifests.store.root, manifests.location(state.incarnation), count_max - len(batch))
    found: list[Ticket] = []
    for content in taken:
        # What another release may have written is left to its writer.
        with suppress(ValueError, TypeError, LookupError, AttributeError, OmnigraphError):
            found += _tickets(offering, state, content)
    return found[: count_max - len(batch)]


def _content(shown: Sequence[tuple[Ticket, str]]) -> bytes:
    changes = [[ticket.plan.base.branch, asdict(ticket.plan.info), text] for ticket, text in shown]
    return json.dumps(changes).encode()


def _tickets(offering: Offering, state: ManifestState, content: bytes) -> list[Ticket]:
    tickets: list[Ticket] = []
    for branch, given, text in json.loads(content):
        kind, parents = CommitKind(given.pop("kind")), tuple(given.pop("merged_parents"))
        info = CommitInfo(kind=kind, merged_parents=parents, **given)
        share = offering.receive(text, info) if branch == state.branch else None
        if share is not None:
            outline = PublishPlan(info, state, (), fence=state.fence.number)
            tickets.append(Ticket(outline, _leave, share=share, is_staged=False))
    return tickets


def _leave(newer: Capture, decision: Decision) -> PublishPlan:
    raise ContentionError("it depends on other changes of the same swap", hint="its own process publishes it")
