"""The door: beyond what the process can have in hand, requests are turned away before anything of them is read."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emissary.api.limits import CAREFUL, UNKNOWN_ROUTE
from emissary.api.problems import overload_headers, problem
from emissary.engine.admission import Admission, Place
from emissary.model.errors import Overloaded
from emissary.telemetry.metrics import Metrics

__all__ = ["ALWAYS_OPEN", "Door", "stand_aside"]

ALWAYS_OPEN = frozenset({"/healthz", "/readyz", "/metrics"})


def stand_aside(request: Request) -> None:
    """What follows is waiting, which keeps nobody out who can be answered; raises Overloaded where too many wait."""
    place: Place | None = request.scope.get("state", {}).get("place")
    if place is not None:
        place.stand_aside()


class Door:
    """Gives each request its place, and takes it back as soon as its answer begins.

    It stands before everything else: what is turned away in a rush must cost as little as it can. So it is counted, but
    not timed, and its answer is put together once; `shape` is what else becomes of an answer on its way out.
    """

    def __init__(
        self, app: ASGIApp, admission: Admission, metrics: Metrics, *, shape: Callable[[ASGIApp], ASGIApp]
    ) -> None:
        self._app = app
        self._admission = admission
        self._turned_away = metrics.requests.labels(UNKNOWN_ROUTE, "429")
        full = Overloaded(f"{admission.most_at_once:,} requests at once are the most that this server takes")
        answer = problem(full.code, full.detail, headers=overload_headers(full, admission.most_at_once))
        answer.raw_headers += CAREFUL
        self._turn_away = shape(answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ALWAYS_OPEN:
            await self._app(scope, receive, send)
            return
        place = self._admission.enter()
        if place is None:
            self._turned_away.inc()
            await self._turn_away(scope, receive, send)
            return
        scope.setdefault("state", {})["place"] = place

        async def received() -> Message:
            place.pause()  # whoever is slow to send takes nobody's place
            try:
                return await receive()
            finally:
                place.resume()

        async def sent(message: Message) -> None:
            place.answer()
            await send(message)

        try:
            await self._app(scope, received, sent)
        finally:
            place.leave()
