"""The passage of one request through its row of the table, up to an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.requests import Request

from omnigraph.core.actors import Actor
from omnigraph.errors import PolicyDenied
from omnigraph.server.access.admission import Admission
from omnigraph.server.call import Call
from omnigraph.server.http.cancelling import Cancelling
from omnigraph.server.http.matching import Match
from omnigraph.server.http.query_strings import parse
from omnigraph.server.http.refusals import Rejection, bad_request
from omnigraph.server.http.replies import Reply
from omnigraph.server.http.sending import GONE, unless_gone
from omnigraph.server.http.streams import Transport
from omnigraph.server.jobs.pool import Jobs
from omnigraph.server.roads import Gate, Lane, Onward, Road
from omnigraph.server.routes.rows import Route
from omnigraph.server.runners import Runner
from omnigraph.server.serving.graphs import Serving


@dataclass(frozen=True, slots=True)
class Passage:
    """Shared parts of the passage: admission, runner, transport and jobs."""

    admission: Admission
    runner: Runner
    transport: Transport
    jobs: Jobs = field(default_factory=Jobs)

    async def reply(
        self, request: Request, match: Match[Route], serving: Serving, call_id: str, cancel: Cancelling
    ) -> Reply:
        """The answer to a request. Raises errors of the tree, refusals and rejections."""
        route = match.row
        is_secured = route.operation.is_secured
        actor = await actor_of_request(request, serving) if is_secured else None
        found = serving.find(match.parameters["graph_id"]) if route.has_graph else None
        call = Call(
            call_id,
            serving,
            actor,
            match.parameters,
            _query(request, route),
            _declared_headers(request, route.headers),
            found,
            cancel,
            jobs=self.jobs,
        )
        if route.is_body_last:
            await self._pass(route.road.gate, call)
        if route.precheck is not None:
            route.precheck(call)
        content = await route.body.read(request)
        call.body = content if route.meaning is None else route.meaning(content)
        reply = await self._travel(route, call, request)
        if route.successor is None:
            return reply
        return reply.with_headers({"deprecation": "true", "link": f'<{route.successor}>; rel="successor-version"'})

    async def _travel(self, route: Route, call: Call, request: Request) -> Reply:
        road, body, is_passed = route.road, call.body, route.is_body_last
        while True:
            if road.check is not None:
                road.check(call, body)
            if not is_passed:
                await self._pass(road.gate, call)
            if road.after_gate is not None:
                road.after_gate(call)
            answer: Reply | Onward | None = None if road.at_once is None else road.at_once(call, body)
            if answer is None:
                answer = await self._admitted(road, call, body, request)
            if isinstance(answer, Reply):
                return answer
            road, body, is_passed = answer.road, answer.body, False
            call.body = body

    async def _admitted(self, road: Road, call: Call, body: Any, request: Request) -> Reply | Onward:
        if road.size is None:
            return await self._handled(road, call, body, request)
        with self.admission.admitted(call.actor_id, road.size(body)):
            return await self._handled(road, call, body, request)

    async def _pass(self, gate: Gate, call: Call) -> None:
        """Let a call through its gate, or raise the denial in the form that the row has for it."""

        def ask() -> None:
            for need in gate.needs(call):
                if gate.of_server:
                    call.serving.require(call.actor, need)
                else:
                    call.require(need)

        try:
            if gate.is_blocking(call):
                await self.runner.run(Lane.READ, ask, call.cancel)
            else:
                ask()
        except PolicyDenied:
            if gate.hidden is None:
                raise
            raise gate.hidden(call) from None

    async def _handled(self, road: Road, call: Call, body: Any, request: Request) -> Reply | Onward:
        if road.is_stream:
            await self.transport.reserve()
        try:
            answer = await self._run(road, call, body, request)
        except BaseException:
            if road.is_stream:
                self.transport.release()
            raise
        if road.is_stream and isinstance(answer, Reply):
            return replace(answer, on_end=self.transport.release)
        return answer

    async def _run(self, road: Road, call: Call, body: Any, request: Request) -> Reply | Onward:
        work = self.runner.handle(road, call, body)
        if road.lane is not Lane.READ:
            # A write runs to its end whether its caller waits or not.
            return await work
        answer = await unless_gone(work, request.receive, call.cancelling)
        return Reply(499) if answer is GONE else answer  # type: ignore[return-value] # GONE is the only other value


async def actor_of_request(request: Request, serving: Serving) -> Actor | None:
    """The actor of the token of a request; raises Refusal 401."""
    if serving.authenticator.is_open:
        return None
    header = _authorization(request)
    if serving.authenticator.waits(header):
        await asyncio.to_thread(serving.authenticator.prepare, header)
    return serving.authenticator.actor_of(header)


def _authorization(request: Request) -> bytes | None:
    return next((value for name, value in request.headers.raw if name == b"authorization"), None)


def _query(request: Request, route: Route) -> dict[str, Any]:
    try:
        return parse(request.scope["query_string"], route.operation.parameters, is_closed=route.is_strict)
    except Rejection as rejection:
        if route.is_strict:
            raise bad_request(rejection.text) from None
        raise


def _declared_headers(request: Request, declared: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    if not declared:
        return found
    for pattern in declared:
        prefix = pattern.removesuffix("*")
        for name, value in request.headers.items():
            if name == pattern or (pattern.endswith("*") and name.startswith(prefix)):
                found[name] = (*found.get(name, ()), value)
    return found
